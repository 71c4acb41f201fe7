"""Splits a page where series churn: with all of its series in one chunk, most cells would be absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from vigie.query.buckets import Buckets
from vigie.store.blocks.chunk import Chunk
from vigie.store.rollups.downsampling import bucket_ends
from vigie.store.rollups.page_codec import encode_page
from vigie.store.rollups.reader import Read, join_buckets
from vigie.store.series.layout import Layout, Layouts, is_too_wide

MAX_WIDENING = 1.25  # if wider than this, a part becomes a chunk of its own
Load = Callable[[], Read]


class PagePiece(NamedTuple):
    """A time range of a page: a function that reads its buckets, and its chunk if it is stored."""

    start: int
    stop: int
    load: Load
    stored: Chunk | None


class PagePart(NamedTuple):
    """A piece whose series are known."""

    piece: PagePiece
    layout: Layout
    load: Callable[[], tuple[Layout, Buckets] | None]


class SplitPage(NamedTuple):
    """Chunks to write for a page, and numbers of stored chunks that stay."""

    chunks: list[Chunk]
    kept: list[int]


def split_page(layouts: Layouts, runs: Iterable[Sequence[PagePiece]], width: int) -> SplitPage:
    """Split a page into as few chunks as its series allow, with few pieces in memory at a time."""
    result = SplitPage([], [])
    for parts, stop in chain.from_iterable(_group_parts(layouts, pieces) for pieces in runs):
        first = parts[0].piece
        if len(parts) == 1 and first.stored is not None and first.stored.end == stop == first.stop:
            result.kept.append(first.stored.number)
        else:
            result.chunks.extend(_build_chunks(layouts, parts, stop, width))
    return result


def _group_parts(layouts: Layouts, pieces: Sequence[PagePiece]) -> Iterator[tuple[list[PagePart], int]]:
    """Yield parts that share a chunk, with their end: a part without samples belongs to those before it."""
    group: list[PagePart] = []
    stop = 0
    for piece in pieces:
        part = _load_part(layouts, piece)
        if part is not None:
            if group and is_too_wide(layouts, [*(each.layout for each in group), part.layout], MAX_WIDENING):
                yield group, stop
                group = []
            group.append(part)
        stop = piece.stop
    if group:
        yield group, stop


def _load_part(layouts: Layouts, piece: PagePiece) -> PagePart | None:
    if piece.stored is not None:
        return PagePart(piece, piece.stored.layout, partial(_load, layouts, piece))
    loaded = _load(layouts, piece)
    return None if loaded is None else PagePart(piece, loaded[0], lambda: loaded)


def _load(layouts: Layouts, piece: PagePiece) -> tuple[Layout, Buckets] | None:
    """Return the series of a piece and their buckets; those of a damaged chunk may differ, or be missing."""
    plan, buckets = piece.load()
    if plan is None or not (buckets.count > 0).any():
        return None
    return layouts.of(tuple(plan.layout.series[i] for i in plan.columns)), buckets


def _build_chunks(layouts: Layouts, parts: Sequence[PagePart], stop: int, width: int) -> Iterator[Chunk]:
    loaded = [one for part in parts if (one := part.load()) is not None]
    if not loaded:
        return
    union = layouts.union(layout for layout, _ in loaded)
    columns_and_buckets = [
        (None if layout is union else np.array([union.column[key] for key in layout.series]), buckets)
        for layout, buckets in loaded
    ]
    buckets = join_buckets(columns_and_buckets, len(union), bucket_ends(parts[0].piece.start, stop, width))
    yield encode_page(layouts.order_by_metric(union), buckets.rows(union.metric_order), width)
