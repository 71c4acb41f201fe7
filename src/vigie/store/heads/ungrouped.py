"""Series that arrive without a frame, grouped by which of them arrive together.

The series of one scrape share a time, but a sender may split them over several requests: new series join the
group of their target that has the same time. The cells of a row may arrive in several calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vigie.query.storage import Labels
from vigie.store.compression.codec import Floats, absent, absent_matrix
from vigie.store.errors import InvalidInputError
from vigie.store.heads.arrival_group import ArrivalGroup, Member
from vigie.store.heads.stream import Stream
from vigie.store.series.layout import NAME, Key, Layout, Layouts, Target, key_of_labels
from vigie.store.wal.records import StreamName, check_time

TARGET_LABELS = ("instance", "job")
PREFIX = "series "
WIDEST = 4096  # per group
PARTINGS = 2  # after which a series gets a group of its own
NAMES = 20_000  # label sets to remember at least


class Samples(NamedTuple):
    """One series with its own times, in milliseconds."""

    labels: Labels
    times: Sequence[int]
    values: Sequence[float]


class ColumnSpan(NamedTuple):
    """One row of a stream."""

    stream: Stream
    layout: Layout
    time: int
    row: Floats


Times = tuple[int, ...]
Members = list[tuple[Member, Sequence[float]]]


class UngroupedSeries:
    """Finds the group of each series."""

    def __init__(self, layouts: Layouts, open_stream: Callable[[StreamName], Stream]) -> None:
        self._layouts = layouts
        self._open = open_stream
        self._groups: dict[Target, dict[str, ArrivalGroup]] = {}  # by stream name
        self._seats: dict[Target, dict[Key, Member]] = {}
        # Senders reuse label objects: holding a reference keeps the id unique.
        self._known: dict[int, tuple[Labels, Member]] = {}
        self._most_known = NAMES
        self._next = 1

    def adopt(self, stream: Stream, stored: Layout | None) -> None:
        """Restore a group from disk; a series that left a group stays in the smaller one."""
        self._next = max(self._next, int(stream.name.source.removeprefix(PREFIX)) + 1)
        in_memory = stream.pieces[-1].layout if stream.pieces else None
        newest = stored if in_memory is None or stream.pieces[-1].end < stream.last_stored else in_memory
        series = newest.series if newest is not None else ()
        seats = [self._seat(stream.name.target, key) for key in series]
        self._group(stream).take(
            [seat for seat in seats if seat.group is None or len(seat.group.seats) >= len(seats)]
        )

    def forget(self, stream: Stream) -> None:
        groups = self._groups.get(stream.name.target, {})
        group = groups.get(stream.name.source)
        if group is None or group.stream is not stream:
            return  # a new stream of this name exists
        group.dismiss(list(group.seats))
        del groups[stream.name.source]
        if not groups:
            del self._groups[stream.name.target]

    def rows(self, series: Sequence[Samples]) -> list[ColumnSpan]:
        """Return the samples as rows of their groups; of two samples at one time, the first is used."""
        seated = list(zip(self._seated(series), series, strict=True))
        by_times = _by_times(seated)
        for times in by_times:
            for time in times:
                check_time(time)
        if _tangled(by_times):
            by_times = _by_times([(seat, one) for seat, samples in seated for one in _one_by_one(samples)])
        by_times.pop((), None)
        for times, members in by_times.items():
            self._house(members, times[-1])
        # Last: rows of a stream that are logged together must have one layout.
        return [place for times, members in by_times.items() for place in self._places(times, members)]

    def judge(self, stream: Stream) -> None:
        """Remove the series of a group that arrive at other times."""
        self._groups[stream.name.target][stream.name.source].judge()

    def _seated(self, series: Sequence[Samples]) -> list[Member]:
        if len(self._known) > self._most_known:
            self._tidy()
        known, seats = self._known, []
        for samples in series:
            labels = samples.labels
            found = known.get(id(labels))
            if found is None or found[0] is not labels:
                found = known[id(labels)] = (labels, self._seat(*split_samples(labels)))
            seats.append(found[1])
        return seats

    def _seat(self, target: Target, key: Key) -> Member:
        seats = self._seats.setdefault(target, {})
        seat = seats.get(key)
        if seat is None:
            seat = seats[key] = Member(target, key)
        return seat

    def _tidy(self) -> None:
        """Forget label sets, and series without a group."""
        self._known.clear()
        placed = {
            target: {key: seat for key, seat in seats.items() if seat.group is not None}
            for target, seats in self._seats.items()
        }
        self._seats = {target: seats for target, seats in placed.items() if seats}
        self._most_known = 2 * sum(map(len, self._seats.values())) + NAMES

    def _places(self, times: Times, members: Members) -> list[ColumnSpan]:
        cells: dict[ArrivalGroup, tuple[list[int], list[Sequence[float]]]] = {}
        for seat, values in members:
            group = seat.group
            assert group is not None
            some = cells.get(group)
            if some is None:
                some = cells[group] = ([], [])
            some[0].append(seat.column)
            some[1].append(values)
        places: list[ColumnSpan] = []
        for group, (columns, lines) in cells.items():
            group.stream = self._open(group.stream.name)  # it may have expired
            matrix = np.array(lines, dtype=np.float64)
            group.note(columns, matrix[:, -1])
            matrix = _matrix(len(group.layout), columns, matrix)
            places += [
                ColumnSpan(group.stream, group.layout, *row) for row in zip(times, matrix, strict=True)
            ]
        return places

    def _house(self, members: Members, time: int) -> None:
        """Assign a group to each series without one, preferring groups that already have this time."""
        strangers = {seat: None for seat, _ in members if seat.group is None}
        for group in {seat.group for seat, _ in members}:
            if group is not None:
                group.latest = time
        if not strangers:
            return
        together: dict[Target, list[Member]] = {}
        for seat in strangers:
            if seat.parted < PARTINGS:
                together.setdefault(seat.target, []).append(seat)
            else:
                group = self._found(seat.target)
                group.take([seat])
                group.is_open = False
        for target, seats in together.items():
            for group in self._groups.get(target, {}).values():
                if seats and group.latest == time and group.is_open and len(group.seats) < WIDEST:
                    room = WIDEST - len(group.seats)
                    group.take(seats[:room])
                    seats = seats[room:]
            for first in range(0, len(seats), WIDEST):
                group = self._found(target)
                group.take(seats[first : first + WIDEST])
                group.latest = time

    def _found(self, target: Target) -> ArrivalGroup:
        stream = self._open(StreamName(target, f"{PREFIX}{self._next}", framed=False))
        self._next += 1
        return self._group(stream)

    def _group(self, stream: Stream) -> ArrivalGroup:
        group = ArrivalGroup(stream, self._layouts)
        self._groups.setdefault(stream.name.target, {})[stream.name.source] = group
        return group


def _by_times(seated: Iterable[tuple[Member, Samples]]) -> dict[Times, Members]:
    found: dict[Times, Members] = {}
    for seat, samples in seated:
        times, values = tuple(samples.times), samples.values
        if len(times) != len(values):
            raise InvalidInputError(f"{len(times)} times came with {len(values)} values")
        members = found.get(times)
        if members is None:
            members = found[times] = []
        members.append((seat, values))
    return found


def _tangled(by_times: dict[Times, Members]) -> bool:
    """Report whether a series may have several samples at one time, in different lists."""
    several = [times for times in by_times if len(times) > 1]
    if not several:
        return False
    if any(len(set(times)) < len(times) for times in several):
        return True
    seats = [seat for members in by_times.values() for seat, _ in members]
    return len(set(seats)) < len(seats)


def _one_by_one(samples: Samples) -> Iterator[Samples]:
    for time, value in zip(samples.times, samples.values, strict=True):
        yield Samples(samples.labels, (time,), (value,))


def _matrix(width: int, columns: list[int], lines: Floats) -> Floats:
    """Return one row per time, given one per series; of two for one series, the first is used."""
    matrix: Floats = absent_matrix(lines.shape[1], width)
    if len(set(columns)) == len(columns):
        matrix[:, columns] = lines.T
        return matrix
    for column, line in zip(columns, lines, strict=True):
        free = absent(matrix[:, column])
        matrix[free, column] = line[free]
    return matrix


def split_samples(labels: Labels) -> tuple[Target, Key]:
    """Split labels into those of the target and the rest."""
    if not labels.get(NAME):
        raise InvalidInputError(f"the series {dict(labels)} has no name")
    target = {name: labels[name] for name in TARGET_LABELS if labels.get(name)}
    rest = {name: value for name, value in labels.items() if name not in target}
    return tuple(sorted(target.items())), key_of_labels(rest, {})
