"""Reads the pieces of one stream into a series group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from vigie.model.nan import STALE_BITS
from vigie.query.label_table import take_rows
from vigie.query.storage import Labels, Load, SeriesGroup
from vigie.store.blocks.block_store import BlockStore
from vigie.store.compression.codec import Floats, Times, absent, absent_matrix, bits
from vigie.store.errors import CorruptionError
from vigie.store.heads.head import Head
from vigie.store.heads.index import StreamMatch
from vigie.store.heads.pieces import Piece
from vigie.store.heads.stream import Stream
from vigie.store.read.chunk_cache import ChunkCache
from vigie.store.read.piece_reader import ReadPart, ReadRows
from vigie.store.series.label_table import StoredLabelTable
from vigie.store.series.match_cache import MatchCache, MergedLayout


def read_group(
    found: StreamMatch, pieces: Sequence[Piece], matches: MatchCache, start: int, end: int
) -> SeriesGroup | None:
    """Return the samples of a stream's matching series in a time range, or None."""
    return fetch_group(found, pieces, matches, start, end).load()


class FetchedGroup(NamedTuple):
    """A function that decompresses a group in any thread, its layout, and its number of values."""

    plan: MergedLayout | None
    load: Load
    size: int = 0


NOTHING = FetchedGroup(None, lambda: None)


def fetch_group(
    found: StreamMatch,
    pieces: Sequence[Piece],
    matches: MatchCache,
    start: int,
    end: int,
    cache: ChunkCache | None = None,
) -> FetchedGroup:
    """Fetch the bytes of a stream's matching series; the result decompresses them."""
    parts = _read_parts(found, pieces, start, end)
    if not parts:
        return NOTHING
    layouts = tuple({part.layout: None for part in parts})
    plan = matches.plan(layouts, found.conditions)
    if not len(plan.columns):
        return NOTHING
    columns = {layout: matches.columns(layout, found.conditions) for layout in layouts}
    rows = [
        ReadRows(part.times, plan.rows[layout], part.fetch(columns[layout], cuts, cache))
        for part in parts
        for layout in [part.layout]
        for cuts in [matches.cuts(layout, found.conditions) if part.is_compressed else []]
    ]
    size = len(plan.columns) * sum(len(part.times) for part in parts)
    return FetchedGroup(plan, partial(_load_group, found, plan, rows, start), size)


def _load_group(
    found: StreamMatch, plan: MergedLayout, rows: Sequence[ReadRows], start: int
) -> SeriesGroup | None:
    try:
        times, values, sparse = _concatenate(rows, len(plan.columns))
    except CorruptionError:
        alone = [each for some in rows for each in some.split()]
        rows = [each for each in alone if _is_intact(found, each, len(plan.columns))]
        if not rows:
            return None
        times, values, sparse = _concatenate(rows, len(plan.columns))
    if sparse and found.stream.name.framed:
        mark_stale(values)
    inside = int(times.searchsorted(start))
    return _build_group(found, plan, times[inside:], values[:, inside:], sparse)


def _is_intact(found: StreamMatch, rows: ReadRows, height: int) -> bool:
    """Report whether rows are intact; damaged rows are left out of the result."""
    try:
        rows.fill(np.empty((height, len(rows.times))))
    except CorruptionError as error:
        span = rows.times[0], rows.times[-1]
        report = f"{dict(found.target)} from {span[0]} to {span[1]} is not readable: {error}"
        found.stream.corruption_log.add(report)
        return False
    return True


def mark_stale(values: Floats) -> None:
    """Write a stale marker where a series is absent but was present in the frame before."""
    gone = absent(values)
    live = ~gone & (bits(values) != np.uint64(STALE_BITS))
    bits(values)[:, 1:][gone[:, 1:] & live[:, :-1]] = STALE_BITS


def find_pieces(stream: Stream, blocks: BlockStore, start: int, end: int) -> list[Piece]:
    """Return the pieces that overlap a time range and the one before, in time order."""
    pieces: list[Piece] = list(stream.pieces)
    in_memory = any(stream.complete_from <= piece.start < start for piece in pieces)
    if stream.number and not in_memory:
        in_memory_numbers = stream.in_memory()
        stored = blocks.overlapping(stream.number, start, end, separate_after=stream.cached_from(end))
        chunks = [chunk for chunk in stored if chunk.number not in in_memory_numbers]
        stream.cache_chunks(chunks, end)
        pieces = sorted([*pieces, *chunks], key=lambda piece: piece.start)
    pieces = [piece for piece in pieces if piece.start <= end]
    inside = next((i for i, piece in enumerate(pieces) if piece.end >= start), len(pieces))
    return pieces[max(0, inside - 1) :]


def _read_parts(found: StreamMatch, pieces: Sequence[Piece], start: int, end: int) -> list[ReadPart]:
    if len(pieces) > 1 and pieces[1].start < start:
        pieces = pieces[1:]
    parts = []
    for run in _group_runs(pieces):
        try:
            parts.append(ReadPart(run, start, end))
        except CorruptionError:
            parts += _intact_parts(found, run, start, end)
    return [part for part in parts if len(part.times)]


def _group_runs(pieces: Iterable[Piece]) -> Iterable[Sequence[Piece]]:
    """Group consecutive chunks on disk that have the same layout; everything else is alone."""
    runs: list[list[Piece]] = []
    for piece in pieces:
        before = runs[-1][-1] if runs else None
        if before is not None and _can_join(before, piece):
            runs[-1].append(piece)
        else:
            runs.append([piece])
    return runs


def _can_join(before: Piece, piece: Piece) -> bool:
    if isinstance(before, Head) or isinstance(piece, Head) or not (before.number and piece.number):
        return False
    return before.layout is piece.layout


def _intact_parts(found: StreamMatch, pieces: Iterable[Piece], start: int, end: int) -> Iterable[ReadPart]:
    """Yield the pieces whose times are readable, and report the others."""
    for piece in pieces:
        try:
            yield ReadPart([piece], start, end)
        except CorruptionError as error:
            report = f"{dict(found.target)} before {piece.end} is not readable: {error}"
            found.stream.corruption_log.add(report)


def _concatenate(rows: Sequence[ReadRows], height: int) -> tuple[Times, Floats, bool]:
    times = np.concatenate([each.times for each in rows])
    complete = all(each.vectors is None for each in rows)
    values = np.empty((height, len(times))) if complete else absent_matrix(height, len(times))
    sparse, at = not complete, 0
    for each in rows:
        till = at + len(each.times)
        sparse = each.fill(values[:, at:till]) or sparse
        at = till
    return times, values, sparse


def _build_group(
    found: StreamMatch, plan: MergedLayout, times: Times, values: Floats, sparse: bool
) -> SeriesGroup | None:
    """Build a group without series and times that have no samples."""
    table = StoredLabelTable(found.target, plan.layout, plan.columns)
    labels: Sequence[Labels] = table
    if sparse:
        present = ~absent(values)
        lines, columns = present.any(axis=1), present.any(axis=0)
        if not lines.all():
            labels, values = table.take(np.flatnonzero(lines)), values[lines]
        if not columns.all():
            times, values = times[columns], values[:, columns]
    if not len(labels) or not len(times):
        return None
    return SeriesGroup(labels, times, values)


def merge_overlapping(groups: Iterable[SeriesGroup]) -> list[SeriesGroup]:
    """Return groups in which each series occurs once: samples of a series in several groups are merged."""
    groups = list(groups)
    seen: dict[frozenset[tuple[str, str]], list[tuple[int, int]]] = {}
    for g, group in enumerate(groups):
        for i, labels in enumerate(group.labels):
            seen.setdefault(frozenset(labels.items()), []).append((g, i))
    repeated = [places for places in seen.values() if len(places) > 1]
    if not repeated:
        return groups
    moved = {place for places in repeated for place in places}
    rest = [_drop_series(group, {i for h, i in moved if h == g}) for g, group in enumerate(groups)]
    joined = [_merge_series([(groups[g], i) for g, i in places]) for places in repeated]
    return [group for group in rest if len(group.labels)] + joined


def _drop_series(group: SeriesGroup, lines: set[int]) -> SeriesGroup:
    remaining = np.array([i for i in range(len(group.labels)) if i not in lines], dtype=np.intp)
    return SeriesGroup(take_rows(group.labels, remaining), group.times, group.values[remaining])


def _merge_series(places: Sequence[tuple[SeriesGroup, int]]) -> SeriesGroup:
    labels: Labels = places[0][0].labels[places[0][1]]
    times = np.concatenate([group.times for group, _ in places])
    values = np.concatenate([group.values[i] for group, i in places])
    present = ~absent(values)
    times, values = times[present], values[present]
    # A sample wins over a stale marker at the same time.
    order = np.argsort(bits(values) == np.uint64(STALE_BITS), kind="stable")
    times, values = times[order], values[order]
    times, first = np.unique(times, return_index=True)
    return SeriesGroup([labels], times, values[first][np.newaxis])
