"""Puts the pieces of a stream together into what a query is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from vigie.model.values import STALE_BITS
from vigie.query.storage import Group, Labels
from vigie.store.blocks import Blocks
from vigie.store.chunk import Piece
from vigie.store.codec import Floats, Times, absent, bits
from vigie.store.head import absent_matrix
from vigie.store.index import Found, Matches
from vigie.store.layout import Columns, Key, Layout, unique
from vigie.store.stream import Stream


class Part:
    """The rows of one piece that a question is about."""

    def __init__(self, piece: Piece, columns: Columns, start: int, end: int) -> None:
        self.piece, self.columns = piece, columns
        times = piece.times
        first = int(np.searchsorted(times, start))
        self.first = max(0, first - 1)  # one row more, to see what ended in the first one
        self.last = int(np.searchsorted(times, end, side="right"))
        self.times = times[self.first : self.last]
        self.reaches_before = first > 0


def read_group(found: Found, pieces: Sequence[Piece], matches: Matches, start: int, end: int) -> Group | None:
    """Return the samples of a stream's fitting series in a time span, if there are any."""
    parts = _parts(found, pieces, matches, start, end)
    columns = {part.piece.layout: part.columns for part in parts}
    keys = unique(layout.series[i] for layout, some in columns.items() for i in some)
    if not keys:
        return None
    times, values, sparse = _joined(parts, keys, columns)
    if sparse and found.stream.name.framed:
        mark_ends(values)
    inside = int(np.searchsorted(times, start))
    return _with_samples(found, keys, times[inside:], values[:, inside:], sparse)


def mark_ends(values: Floats) -> None:
    """Put a stale marker where a series has no sample but had one in the frame before."""
    gone = absent(values)
    live = ~gone & (bits(values) != np.uint64(STALE_BITS))
    bits(values)[:, 1:][gone[:, 1:] & live[:, :-1]] = STALE_BITS


def pieces_of(stream: Stream, blocks: Blocks, start: int, end: int) -> list[Piece]:
    """Return the pieces that reach into a time span and the one before, in order of time."""
    pieces: list[Piece] = list(stream.pieces)
    in_memory = bool(pieces) and stream.last_stored < pieces[0].start < start
    if stream.number and not in_memory:
        taken_back = {number for piece in pieces for number in piece.replaces}
        chunks = blocks.overlapping(stream.number, start, end)
        pieces += [chunk for chunk in chunks if chunk.number not in taken_back]
        pieces.sort(key=lambda piece: piece.start)
    pieces = [piece for piece in pieces if piece.start <= end]
    inside = next((i for i, piece in enumerate(pieces) if piece.end >= start), len(pieces))
    return pieces[max(0, inside - 1) :]


def _parts(found: Found, pieces: Sequence[Piece], matches: Matches, start: int, end: int) -> list[Part]:
    parts = []
    for piece in pieces:
        columns = matches.columns(piece.layout, found.conditions)
        parts.append(Part(piece, columns, start, end))
    if len(parts) > 1 and parts[1].reaches_before:
        del parts[0]
    return [part for part in parts if len(part.times)]


def _joined(
    parts: Sequence[Part], keys: Sequence[Key], columns: Mapping[Layout, Columns]
) -> tuple[Times, Floats, bool]:
    if len(parts) == 1:
        return parts[0].times, *parts[0].piece.read(parts[0].columns, parts[0].first, parts[0].last)
    times = np.concatenate([part.times for part in parts])
    values = absent_matrix(len(keys), len(times))
    line = {key: i for i, key in enumerate(keys)}
    lines = {layout: [line[layout.series[i]] for i in some] for layout, some in columns.items()}
    sparse, at, in_order = False, 0, list(range(len(keys)))
    for part in parts:
        till = at + len(part.times)
        some, holes = part.piece.read(part.columns, part.first, part.last)
        sparse = sparse or holes or len(part.columns) < len(keys)
        if lines[part.piece.layout] == in_order:
            values[:, at:till] = some
        else:
            values[lines[part.piece.layout], at:till] = some
        at = till
    return times, values, sparse


def _with_samples(
    found: Found, keys: Sequence[Key], times: Times, values: Floats, sparse: bool
) -> Group | None:
    """Leave out series and times without any sample."""
    if sparse:
        there = ~absent(values)
        lines, columns = there.any(axis=1), there.any(axis=0)
        if not lines.all():
            keys = [key for key, some in zip(keys, np.atleast_1d(lines), strict=True) if some]
            values = values[lines]
        if not columns.all():
            times, values = times[columns], values[:, columns]
    if not keys or not len(times):
        return None
    return Group([{**found.target, **dict(key)} for key in keys], times, values)


def disjoint(groups: Iterable[Group]) -> list[Group]:
    """Return the groups with each series in one only: where two have it, their samples are joined."""
    groups = list(groups)
    seen: dict[frozenset[tuple[str, str]], list[tuple[int, int]]] = {}
    for g, group in enumerate(groups):
        for i, labels in enumerate(group.labels):
            seen.setdefault(frozenset(labels.items()), []).append((g, i))
    twice = [places for places in seen.values() if len(places) > 1]
    if not twice:
        return groups
    moved = {place for places in twice for place in places}
    rest = [_without(group, {i for h, i in moved if h == g}) for g, group in enumerate(groups)]
    joined = [_one_series([(groups[g], i) for g, i in places]) for places in twice]
    return [group for group in rest if group.labels] + joined


def _without(group: Group, lines: set[int]) -> Group:
    stay = [i for i in range(len(group.labels)) if i not in lines]
    return Group([group.labels[i] for i in stay], group.times, group.values[stay])


def _one_series(places: Sequence[tuple[Group, int]]) -> Group:
    labels: Labels = places[0][0].labels[places[0][1]]
    times = np.concatenate([group.times for group, _ in places])
    values = np.concatenate([group.values[i] for group, i in places])
    there = ~absent(values)
    times, values = times[there], values[there]
    times, first = np.unique(times, return_index=True)
    return Group([labels], times, values[first][np.newaxis])
