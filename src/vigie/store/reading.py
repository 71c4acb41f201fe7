"""Puts the pieces of a stream together into what a query is given."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial

import numpy as np

from vigie.model.values import STALE_BITS
from vigie.query.label_rows import metric_names, taken
from vigie.query.storage import Group, Labels
from vigie.store.blocks import Blocks
from vigie.store.chunk import Chunk, Piece
from vigie.store.codec import Floats, Times, absent, bits, unpack_times
from vigie.store.condition import Condition
from vigie.store.errors import Damaged
from vigie.store.head import absent_matrix
from vigie.store.index import Found, Matches, Plan
from vigie.store.labels import StoredLabels
from vigie.store.layout import Columns
from vigie.store.stream import Stream

log = logging.getLogger(__name__)

Read = Callable[[], tuple[Floats, bool]]


class Part:
    """The rows of one piece that a question is about."""

    def __init__(self, piece: Piece, columns: Columns, start: int, end: int) -> None:
        self.piece, self.columns = piece, columns
        times = _unpacked(piece.packed_times) if isinstance(piece, Chunk) else piece.times.copy()
        first = int(np.searchsorted(times, start))
        self.first = max(0, first - 1)  # one row more, to see what ended in the first one
        self.last = int(np.searchsorted(times, end, side="right"))
        self.times = times[self.first : self.last]
        self.reaches_before = first > 0

    def fetched(self, matches: Matches, conditions: tuple[Condition, ...]) -> Read:
        """Return what reads the rows later, when the piece may be gone and without asking the disk again."""
        if not isinstance(self.piece, Chunk):
            rows = self.piece.read(self.columns, self.first, self.last)
            return lambda: rows
        metrics = matches.metrics(self.piece.layout, conditions)
        blobs = {metric: self.piece.blob(metric) for metric in metrics}
        return partial(self.piece._replace(blob=blobs.__getitem__).read, self.columns, self.first, self.last)


@lru_cache(maxsize=4096)  # most questions are about the newest chunks, again and again
def _unpacked(packed: bytes) -> Times:
    times = unpack_times(packed)
    times.setflags(write=False)
    return times


def read_group(found: Found, pieces: Sequence[Piece], matches: Matches, start: int, end: int) -> Group | None:
    """Return the samples of a stream's fitting series in a time span, if there are any."""
    return fetch_group(found, pieces, matches, start, end)()


def fetch_group(
    found: Found, pieces: Sequence[Piece], matches: Matches, start: int, end: int
) -> Callable[[], Group | None]:
    """Return what unpacks the samples of a stream's fitting series, in any thread and at any time."""
    parts = _parts(found, pieces, matches, start, end)
    if not parts:
        return lambda: None
    plan = matches.plan(tuple({part.piece.layout: None for part in parts}), found.conditions)
    if not len(plan.columns):
        return lambda: None
    reads = [
        (part.times, plan.lines[part.piece.layout], part.fetched(matches, found.conditions)) for part in parts
    ]
    return partial(_unpacked_group, found, plan, reads, start)


def _unpacked_group(
    found: Found, plan: Plan, reads: Sequence[tuple[Times, Columns | None, Read]], start: int
) -> Group | None:
    try:
        times, values, sparse = _joined(reads, len(plan.columns))
    except Damaged:
        readable = _readable(found, reads)
        if not readable:
            return None
        times, values, sparse = _joined(readable, len(plan.columns))
    if sparse and found.stream.name.framed:
        mark_ends(values)
    inside = int(np.searchsorted(times, start))
    return _with_samples(found, plan, times[inside:], values[:, inside:], sparse)


def _readable(
    found: Found, reads: Sequence[tuple[Times, Columns | None, Read]]
) -> list[tuple[Times, Columns | None, Read]]:
    """Leave out what is damaged: it costs its own rows, not the answer."""
    whole: list[tuple[Times, Columns | None, Read]] = []
    for times, lines, read in reads:
        try:
            rows = read()
        except Damaged as error:
            log.warning(
                "%s from %d to %d is not readable: %s", dict(found.target), times[0], times[-1], error
            )
        else:
            whole.append((times, lines, partial(_same, rows)))
    return whole


def _same(rows: tuple[Floats, bool]) -> tuple[Floats, bool]:
    return rows


def mark_ends(values: Floats) -> None:
    """Put a stale marker where a series has no sample but had one in the frame before."""
    gone = absent(values)
    live = ~gone & (bits(values) != np.uint64(STALE_BITS))
    bits(values)[:, 1:][gone[:, 1:] & live[:, :-1]] = STALE_BITS


def pieces_of(stream: Stream, blocks: Blocks, start: int, end: int) -> list[Piece]:
    """Return the pieces that reach into a time span and the one before, in order of time."""
    pieces: list[Piece] = list(stream.pieces)
    in_memory = any(stream.complete_from <= piece.start < start for piece in pieces)
    if stream.number and not in_memory:
        taken_back = stream.in_memory()
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
        try:
            parts.append(Part(piece, columns, start, end))
        except Damaged as error:  # of the times
            log.warning("%s before %d is not readable: %s", dict(found.target), piece.end, error)
    if len(parts) > 1 and parts[1].reaches_before:
        del parts[0]
    return [part for part in parts if len(part.times)]


def _joined(reads: Sequence[tuple[Times, Columns | None, Read]], height: int) -> tuple[Times, Floats, bool]:
    if len(reads) == 1 and reads[0][1] is None:
        return reads[0][0], *reads[0][2]()
    times = np.concatenate([some for some, _, _ in reads])
    complete = all(lines is None for _, lines, _ in reads)
    values = np.empty((height, len(times))) if complete else absent_matrix(height, len(times))
    sparse, at = not complete, 0
    for some, lines, read in reads:
        part, holes = read()
        sparse = sparse or holes
        values[slice(None) if lines is None else lines, at : at + len(some)] = part
        at += len(some)
    return times, values, sparse


def _with_samples(found: Found, plan: Plan, times: Times, values: Floats, sparse: bool) -> Group | None:
    """Leave out series and times without any sample."""
    plain = StoredLabels(found.target, plan.layout, plan.columns)
    labels: Sequence[Labels] = plain
    if sparse:
        there = ~absent(values)
        lines, columns = there.any(axis=1), there.any(axis=0)
        if not lines.all():
            labels, values = plain.taken(np.flatnonzero(lines)), values[lines]
        if not columns.all():
            times, values = times[columns], values[:, columns]
    if not len(labels) or not len(times):
        return None
    return Group(labels, times, values)


def share_names(groups: Sequence[Group]) -> bool:
    """Tell whether two groups may have the same series, because they have a metric in common."""
    names = [metric_names(group.labels) for group in groups]
    return len(set().union(*names)) < sum(map(len, names))


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
    return [group for group in rest if len(group.labels)] + joined


def _without(group: Group, lines: set[int]) -> Group:
    stay = np.array([i for i in range(len(group.labels)) if i not in lines], dtype=np.intp)
    return Group(taken(group.labels, stay), group.times, group.values[stay])


def _one_series(places: Sequence[tuple[Group, int]]) -> Group:
    labels: Labels = places[0][0].labels[places[0][1]]
    times = np.concatenate([group.times for group, _ in places])
    values = np.concatenate([group.values[i] for group, i in places])
    there = ~absent(values)
    times, values = times[there], values[there]
    times, first = np.unique(times, return_index=True)
    return Group([labels], times, values[first][np.newaxis])
