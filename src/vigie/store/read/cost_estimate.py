"""Estimates how many samples a selection would read, mostly without reading from disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import islice

from vigie.query.storage import Matcher
from vigie.store.blocks.block_store import BlockStore
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.heads.pieces import Piece
from vigie.store.series.match_cache import MatchCache

STREAMS_PER_LOCK = 256  # per acquisition of the lock


def estimate_samples(
    lock: threading.RLock,
    index: Index,
    blocks: BlockStore,
    matchers: Sequence[Matcher],
    start: int,
    end: int,
    enough: int,
) -> int:
    """Return the approximate number of samples in a time range, or any number above `enough`."""
    matches, total = MatchCache(), 0
    found = index.find(matchers)  # reads the index when the first stream is taken
    while total <= enough:
        with lock:
            some = [(one, list(one.stream.pieces)) for one in islice(found, STREAMS_PER_LOCK)]
        if not some:
            break
        for one, pieces in some:
            total += _count_in_memory(one, pieces, matches, start, end)
            total += _count_on_disk(one, pieces, blocks, matches, start, end)
    return total


def _count_in_memory(
    found: StreamMatch, pieces: Sequence[Piece], matches: MatchCache, start: int, end: int
) -> int:
    return sum(
        _rows_inside(piece, start, end) * len(matches.columns(piece.layout, found.conditions))
        for piece in pieces
        if piece.start <= end and piece.end >= start
    )


def _rows_inside(piece: Piece, start: int, end: int) -> int:
    """Return the number of rows in a time range, if rows are evenly spaced."""
    inside = min(end, piece.end) - max(start, piece.start)
    length = piece.end - piece.start
    return piece.rows if inside >= length else min(piece.rows, piece.rows * inside // length + 1)


def _count_on_disk(
    found: StreamMatch,
    pieces: Sequence[Piece],
    blocks: BlockStore,
    matches: MatchCache,
    start: int,
    end: int,
) -> int:
    stream = found.stream
    begin = max(start, stream.spans.start)
    if not stream.number or begin >= stream.complete_from:
        return 0
    rate = _row_rate(pieces)
    if rate is None:  # no recent rows in memory to extrapolate from
        rows = blocks.count_rows(stream.number, start, end)
        return sum(count * len(matches.columns(layout, found.conditions)) for count, layout in rows)
    stop = min(end, stream.spans.end, stream.complete_from)
    length = max(0, stop - begin)
    return (int(length * rate) + 1) * len(matches.columns(pieces[-1].layout, found.conditions))


def _row_rate(pieces: Sequence[Piece]) -> float | None:
    """Return rows per millisecond, from what is in memory."""
    rows = sum(piece.rows - 1 for piece in pieces)
    length = sum(piece.end - piece.start for piece in pieces)
    return rows / length if rows and length else None
