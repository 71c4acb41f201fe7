"""Reads the rows of heads and chunks into a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from vigie.store.blocks.chunk import Chunk, fill_vectors
from vigie.store.compression.codec import Floats, Times, unpack_times
from vigie.store.errors import CorruptionError
from vigie.store.heads.head import Head
from vigie.store.heads.pieces import Piece
from vigie.store.read.chunk_cache import MAX_READ_BYTES, CachedValues, ChunkCache, Key
from vigie.store.series.layout import ColumnCut, Columns

Read = Callable[[Floats], bool]  # writes rows into a matrix, and returns whether a cell may be absent
CACHED_TIMES = 1024


class ReadPart:
    """The rows of one piece, or of consecutive chunks with one layout, in a time range."""

    def __init__(self, pieces: Sequence[Piece], start: int, end: int) -> None:
        self._pieces = pieces
        self.layout = pieces[0].layout
        self.is_compressed = isinstance(pieces[0], Chunk)
        times = _read_times(pieces)
        first = int(times.searchsorted(start)) if pieces[0].start < start else 0
        self._first = max(0, first - 1)  # one row more, to see which series ended at the first
        self._last = int(times.searchsorted(end, side="right")) if pieces[-1].end > end else len(times)
        self.times = times[self._first : self._last]

    def fetch(self, columns: Columns, cuts: Sequence[ColumnCut], cache: ChunkCache | None) -> Read:
        """Fetch the bytes now; the result decompresses them later, when the pieces may be gone."""
        if isinstance(self._pieces[0], Head):
            return partial(_copy_rows, *self._pieces[0].read(columns, self._first, self._last))
        chunks = [piece for piece in self._pieces if isinstance(piece, Chunk)]
        size = len(columns) * sum(chunk.rows for chunk in chunks) * columns.itemsize
        span = slice(self._first, self._last)
        if cache is None or size > MAX_READ_BYTES or not chunks[0].number:
            return ChunkRun([_fetch_chunk(chunk, cuts) for chunk in chunks], span)
        wanted = columns.tobytes()
        keys = [(chunk.number, wanted) for chunk in chunks]
        found = cache.find(keys)
        cached = [vectors for vectors in found if vectors is not None]
        if len(cached) == len(chunks):
            return partial(_copy_cached, cached, span)
        return ChunkRun(list(_find_or_fetch(chunks, keys, found, cuts, cache)), span)


def _copy_rows(rows: Floats, sparse: bool, out: Floats) -> bool:
    out[...] = rows
    return sparse


def _copy_cached(cached: Sequence[CachedValues], span: slice, out: Floats) -> bool:
    any_sparse, begin = False, -span.start  # where the chunk's first row would be in the matrix
    for values, sparse in cached:
        end = begin + values.shape[1]
        at, till = max(0, begin), min(end, out.shape[1])
        if at < till:
            out[:, at:till] = values[:, at - begin : till - begin]
            any_sparse = any_sparse or sparse
        begin = end
    return any_sparse


def _fetch_chunk(
    chunk: Chunk, cuts: Sequence[ColumnCut], store: Callable[[CachedValues], None] | None = None
) -> CompressedPart | UnreadablePart:
    try:
        return CompressedPart(chunk.rows, [chunk.blob(cut.group) for cut in cuts], cuts, store=store)
    except CorruptionError as error:
        return UnreadablePart(chunk.rows, error)


def _find_or_fetch(
    chunks: Sequence[Chunk],
    keys: Sequence[Key],
    found: Sequence[CachedValues | None],
    cuts: Sequence[ColumnCut],
    cache: ChunkCache,
) -> Iterator[CompressedPart | UnreadablePart]:
    for chunk, key, vectors in zip(chunks, keys, found, strict=True):
        if vectors is not None:
            yield CompressedPart(chunk.rows, (), cuts, vectors)
        else:
            yield _fetch_chunk(chunk, cuts, partial(cache.put, key) if cache.is_repeated(key) else None)


class CompressedPart(NamedTuple):
    """The columns of a chunk to read, compressed or cached; `cache` stores them after decompression."""

    rows: int
    blobs: Sequence[bytes]  # of the selected column groups
    cuts: Sequence[ColumnCut]
    vectors: CachedValues | None = None
    store: Callable[[CachedValues], None] | None = None

    def fill(self, first: int, last: int, out: Floats) -> bool:
        """Write some rows into a matrix, and return whether a cell may be absent."""
        if self.vectors is None and self.store is None:
            return fill_vectors(self.blobs, self.cuts, self.rows, first, last, out)
        vectors = self.vectors or self._decompress(len(out))
        return _copy_rows(vectors.values[:, first:last], vectors.sparse, out)

    def _decompress(self, height: int) -> CachedValues:
        values = np.empty((height, self.rows))
        vectors = CachedValues(values, fill_vectors(self.blobs, self.cuts, self.rows, 0, self.rows, values))
        if self.store is not None:
            self.store(vectors)
        return vectors


class UnreadablePart(NamedTuple):
    """A chunk whose bytes could not be fetched; the error is raised when it is decompressed."""

    rows: int
    error: CorruptionError

    def fill(self, *_: object) -> bool:
        raise self.error


@dataclass(frozen=True)
class ChunkRun:
    """A row range over consecutive chunks."""

    chunks: Sequence[CompressedPart | UnreadablePart]
    span: slice

    def __call__(self, out: Floats) -> bool:
        """Write the rows into a matrix, and return whether a cell may be absent."""
        sparse = False
        for chunk, at, first, last in self._ranges():
            sparse = chunk.fill(first, last, out[:, at : at + last - first]) or sparse
        return sparse

    def split(self) -> Iterator[tuple[slice, ChunkRun]]:
        """Yield each chunk alone, with its range of rows."""
        for chunk, at, first, last in self._ranges():
            yield slice(at, at + last - first), ChunkRun([chunk], slice(first, last))

    def _ranges(self) -> Iterator[tuple[CompressedPart | UnreadablePart, int, int, int]]:
        """Yield each chunk with its position in the matrix and its range of rows."""
        begin = at = 0
        for chunk in self.chunks:
            first, last = max(0, self.span.start - begin), min(chunk.rows, self.span.stop - begin)
            if first < last:
                yield chunk, at, first, last
                at += last - first
            begin += chunk.rows


class ReadRows(NamedTuple):
    """Times, rows of the matrix to fill (None for all), and the function that fills them."""

    times: Times
    vectors: Columns | None
    read: Read

    def fill(self, out: Floats) -> bool:
        """Write the values into the matrix, and return whether a cell may be absent."""
        if self.vectors is None:
            return self.read(out)
        part = np.empty((len(self.vectors), len(self.times)))
        self.read(part)
        out[self.vectors] = part
        return True

    def split(self) -> Iterable[ReadRows]:
        """Return the rows of each chunk alone."""
        if not isinstance(self.read, ChunkRun):
            return [self]
        return [ReadRows(self.times[span], self.vectors, read) for span, read in self.read.split()]


def _read_times(pieces: Sequence[Piece]) -> Times:
    if isinstance(pieces[0], Head):
        return pieces[0].times.copy()
    return _decompress_times(tuple([piece.packed_times for piece in pieces if isinstance(piece, Chunk)]))


@lru_cache(maxsize=CACHED_TIMES)  # most queries read the newest chunks
def _decompress_times(packed: tuple[bytes, ...]) -> Times:
    times = np.concatenate([unpack_times(each) for each in packed])
    times.setflags(write=False)
    return times
