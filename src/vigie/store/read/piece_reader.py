"""Reads the rows of heads and chunks into a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from vigie.store.blocks.chunk import Chunk, fill_lines
from vigie.store.compression.codec import Floats, Times, unpack_times
from vigie.store.errors import CorruptionError
from vigie.store.heads.head import Head
from vigie.store.heads.pieces import Piece
from vigie.store.read.chunk_cache import LARGEST, CachedLines, ChunkCache, Key
from vigie.store.series.layout import ColumnCut, Columns

Read = Callable[[Floats], bool]  # writes rows into a matrix, and returns whether a cell may be absent
ENOUGH_TIMES = 1024


class ReadPart:
    """The rows of one piece, or of consecutive chunks with one layout, in a time range."""

    def __init__(self, pieces: Sequence[Piece], start: int, end: int) -> None:
        self._pieces = pieces
        self.layout = pieces[0].layout
        self.is_pressed = isinstance(pieces[0], Chunk)
        times = _times_of(pieces)
        first = int(times.searchsorted(start)) if pieces[0].start < start else 0
        self._first = max(0, first - 1)  # one row more, to see which series ended at the first
        self._last = int(times.searchsorted(end, side="right")) if pieces[-1].end > end else len(times)
        self.times = times[self._first : self._last]

    def fetched(self, columns: Columns, cuts: Sequence[ColumnCut], unpacked: ChunkCache | None) -> Read:
        """Fetch the bytes now; the result decompresses them later, when the pieces may be gone."""
        if isinstance(self._pieces[0], Head):
            return partial(_copied, *self._pieces[0].read(columns, self._first, self._last))
        chunks = [piece for piece in self._pieces if isinstance(piece, Chunk)]
        size = len(columns) * sum(chunk.rows for chunk in chunks) * columns.itemsize
        span = slice(self._first, self._last)
        if unpacked is None or size > LARGEST or not chunks[0].number:
            return ChunkRun([_pressed(chunk, cuts) for chunk in chunks], span)
        wanted = columns.tobytes()
        keys = [(chunk.number, wanted) for chunk in chunks]
        found = unpacked.find(keys)
        kept = [lines for lines in found if lines is not None]
        if len(kept) == len(chunks):
            return partial(_copied_all, kept, span)
        return ChunkRun(list(_kept_or_pressed(chunks, keys, found, cuts, unpacked)), span)


def _copied(rows: Floats, sparse: bool, out: Floats) -> bool:
    out[...] = rows
    return sparse


def _copied_all(kept: Sequence[CachedLines], span: slice, out: Floats) -> bool:
    any_sparse, begin = False, -span.start  # where the chunk's first row would be in the matrix
    for values, sparse in kept:
        end = begin + values.shape[1]
        at, till = max(0, begin), min(end, out.shape[1])
        if at < till:
            out[:, at:till] = values[:, at - begin : till - begin]
            any_sparse = any_sparse or sparse
        begin = end
    return any_sparse


def _pressed(
    chunk: Chunk, cuts: Sequence[ColumnCut], keep: Callable[[CachedLines], None] | None = None
) -> CompressedPart | UnreadPart:
    try:
        return CompressedPart(chunk.rows, [chunk.blob(cut.band) for cut in cuts], cuts, keep=keep)
    except CorruptionError as error:
        return UnreadPart(chunk.rows, error)


def _kept_or_pressed(
    chunks: Sequence[Chunk],
    keys: Sequence[Key],
    found: Sequence[CachedLines | None],
    cuts: Sequence[ColumnCut],
    unpacked: ChunkCache,
) -> Iterator[CompressedPart | UnreadPart]:
    for chunk, key, lines in zip(chunks, keys, found, strict=True):
        if lines is not None:
            yield CompressedPart(chunk.rows, (), cuts, lines)
        else:
            yield _pressed(chunk, cuts, partial(unpacked.put, key) if unpacked.wants(key) else None)


class CompressedPart(NamedTuple):
    """The columns of a chunk to read, compressed or cached; `cache` stores them after decompression."""

    rows: int
    blobs: Sequence[bytes]  # of the selected column groups
    cuts: Sequence[ColumnCut]
    lines: CachedLines | None = None
    keep: Callable[[CachedLines], None] | None = None

    def fill(self, first: int, last: int, out: Floats) -> bool:
        """Write some rows into a matrix, and return whether a cell may be absent."""
        if self.lines is None and self.keep is None:
            return fill_lines(self.blobs, self.cuts, self.rows, first, last, out)
        lines = self.lines or self._unpacked(len(out))
        return _copied(lines.values[:, first:last], lines.sparse, out)

    def _unpacked(self, height: int) -> CachedLines:
        values = np.empty((height, self.rows))
        lines = CachedLines(values, fill_lines(self.blobs, self.cuts, self.rows, 0, self.rows, values))
        if self.keep is not None:
            self.keep(lines)
        return lines


class UnreadPart(NamedTuple):
    """A chunk whose bytes could not be fetched; the error is raised when it is decompressed."""

    rows: int
    error: CorruptionError

    def fill(self, *_: object) -> bool:
        raise self.error


@dataclass(frozen=True)
class ChunkRun:
    """A row range over consecutive chunks."""

    chunks: Sequence[CompressedPart | UnreadPart]
    span: slice

    def __call__(self, out: Floats) -> bool:
        """Write the rows into a matrix, and return whether a cell may be absent."""
        sparse = False
        for chunk, at, first, last in self._inside():
            sparse = chunk.fill(first, last, out[:, at : at + last - first]) or sparse
        return sparse

    def apart(self) -> Iterator[tuple[slice, ChunkRun]]:
        """Yield each chunk alone, with its range of rows."""
        for chunk, at, first, last in self._inside():
            yield slice(at, at + last - first), ChunkRun([chunk], slice(first, last))

    def _inside(self) -> Iterator[tuple[CompressedPart | UnreadPart, int, int, int]]:
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
    lines: Columns | None
    read: Read

    def fill(self, out: Floats) -> bool:
        """Write the values into the matrix, and return whether a cell may be absent."""
        if self.lines is None:
            return self.read(out)
        part = np.empty((len(self.lines), len(self.times)))
        self.read(part)
        out[self.lines] = part
        return True

    def apart(self) -> Iterable[ReadRows]:
        """Return the rows of each chunk alone."""
        if not isinstance(self.read, ChunkRun):
            return [self]
        return [ReadRows(self.times[span], self.lines, read) for span, read in self.read.apart()]


def _times_of(pieces: Sequence[Piece]) -> Times:
    if isinstance(pieces[0], Head):
        return pieces[0].times.copy()
    return _unpacked_times(tuple([piece.packed_times for piece in pieces if isinstance(piece, Chunk)]))


@lru_cache(maxsize=ENOUGH_TIMES)  # most queries read the newest chunks
def _unpacked_times(packed: tuple[bytes, ...]) -> Times:
    times = np.concatenate([unpack_times(each) for each in packed])
    times.setflags(write=False)
    return times
