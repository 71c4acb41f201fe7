"""Heads and chunks of one stream: closing a head, reopening a chunk, merging several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vigie.store.blocks.chunk import Chunk, compress_chunk
from vigie.store.compression.codec import QUICK, THOROUGH, absent_matrix
from vigie.store.heads.head import Head
from vigie.store.series.layout import Layouts

Piece = Head | Chunk


def close(layouts: Layouts, head: Head) -> Chunk:
    chunk = compress_chunk(layouts, head.layout, head.times, head.values, QUICK)
    return chunk._replace(since=head.since, replaces=tuple(head.replaces))


def reopen(chunk: Chunk, since: int) -> Head:
    """Convert a chunk back to a head, to insert a late row."""
    head = Head.from_rows(chunk.layout, chunk.times.copy(), np.ascontiguousarray(chunk.values), since)
    head.replaces = [*chunk.replaces, *([chunk.number] if chunk.number else [])]
    head.since = since if chunk.number else min(chunk.since, since)
    return head


def merge(layouts: Layouts, pieces: Sequence[Piece]) -> Chunk:
    if len(pieces) == 1 and isinstance(pieces[0], Chunk):
        return pieces[0]
    layout = layouts.order_by_metric(layouts.union(piece.layout for piece in pieces))
    times = np.concatenate([piece.times for piece in pieces])
    values = absent_matrix(len(times), len(layout))
    at = 0
    for piece in pieces:
        columns = [layout.column[key] for key in piece.layout.series]
        values[at : at + piece.rows, columns] = piece.values
        at += piece.rows
    replaced = tuple(number for piece in pieces for number in piece.replaces)
    return compress_chunk(layouts, layout, times, values, THOROUGH)._replace(replaces=replaced)
