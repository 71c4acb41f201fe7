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
from vigie.store.series.layout import NAME, Key, Layout, Layouts, Target, label_key
from vigie.store.wal.records import StreamName, check_time

TARGET_LABELS = ("instance", "job")
PREFIX = "series "
MAX_GROUP_SERIES = 4096  # per group
MAX_SPLITS = 2  # after which a series gets a group of its own
MIN_KNOWN_LABELS = 20_000  # label sets to remember at least


class Samples(NamedTuple):
    """One series with its own times, in milliseconds."""

    labels: Labels
    times: Sequence[int]
    values: Sequence[float]


class StreamRow(NamedTuple):
    stream: Stream
    layout: Layout
    time: int
    row: Floats


Times = tuple[int, ...]
Entries = list[tuple[Member, Sequence[float]]]


class UngroupedSeries:
    """Finds the group of each series."""

    def __init__(self, layouts: Layouts, open_stream: Callable[[StreamName], Stream]) -> None:
        self._layouts = layouts
        self._open = open_stream
        self._groups: dict[Target, dict[str, ArrivalGroup]] = {}  # by stream name
        self._members: dict[Target, dict[Key, Member]] = {}
        # Senders reuse label objects: holding a reference keeps the id unique.
        self._known: dict[int, tuple[Labels, Member]] = {}
        self._max_known_labels = MIN_KNOWN_LABELS
        self._next = 1

    def restore(self, stream: Stream, stored: Layout | None) -> None:
        """Restore a group from disk; a series that left a group stays in the smaller one."""
        self._next = max(self._next, int(stream.name.source.removeprefix(PREFIX)) + 1)
        in_memory = stream.pieces[-1].layout if stream.pieces else None
        newest = stored if in_memory is None or stream.pieces[-1].end < stream.last_stored else in_memory
        series = newest.series if newest is not None else ()
        members = [self._get_member(stream.name.target, key) for key in series]
        self._add_group(stream).add(
            [
                member
                for member in members
                if member.group is None or len(member.group.members) >= len(members)
            ]
        )

    def forget(self, stream: Stream) -> None:
        groups = self._groups.get(stream.name.target, {})
        group = groups.get(stream.name.source)
        if group is None or group.stream is not stream:
            return  # a new stream of this name exists
        group.remove(list(group.members))
        del groups[stream.name.source]
        if not groups:
            del self._groups[stream.name.target]

    def rows(self, series: Sequence[Samples]) -> list[StreamRow]:
        """Return the samples as rows of their groups; of two samples at one time, the first is used."""
        members_of_series = list(zip(self._find_members(series), series, strict=True))
        by_times = _by_times(members_of_series)
        for times in by_times:
            for time in times:
                check_time(time)
        if _has_repeated_times(by_times):
            by_times = _by_times(
                [(member, one) for member, samples in members_of_series for one in _split_times(samples)]
            )
        by_times.pop((), None)
        for times, entries in by_times.items():
            self._assign_groups(entries, times[-1])
        # Last: rows of a stream that are logged together must have one layout.
        return [row for times, entries in by_times.items() for row in self._build_rows(times, entries)]

    def regroup(self, stream: Stream) -> None:
        """Remove the series of a group that arrive at other times."""
        self._groups[stream.name.target][stream.name.source].regroup()

    def _find_members(self, series: Sequence[Samples]) -> list[Member]:
        if len(self._known) > self._max_known_labels:
            self._drop_unused()
        known, members = self._known, []
        for samples in series:
            labels = samples.labels
            found = known.get(id(labels))
            if found is None or found[0] is not labels:
                found = known[id(labels)] = (labels, self._get_member(*split_samples(labels)))
            members.append(found[1])
        return members

    def _get_member(self, target: Target, key: Key) -> Member:
        members = self._members.setdefault(target, {})
        member = members.get(key)
        if member is None:
            member = members[key] = Member(target, key)
        return member

    def _drop_unused(self) -> None:
        """Forget label sets, and series without a group."""
        self._known.clear()
        placed = {
            target: {key: member for key, member in members.items() if member.group is not None}
            for target, members in self._members.items()
        }
        self._members = {target: members for target, members in placed.items() if members}
        self._max_known_labels = 2 * sum(map(len, self._members.values())) + MIN_KNOWN_LABELS

    def _build_rows(self, times: Times, entries: Entries) -> list[StreamRow]:
        cells: dict[ArrivalGroup, tuple[list[int], list[Sequence[float]]]] = {}
        for member, values in entries:
            group = member.group
            assert group is not None
            some = cells.get(group)
            if some is None:
                some = cells[group] = ([], [])
            some[0].append(member.column)
            some[1].append(values)
        rows: list[StreamRow] = []
        for group, (columns, values_of_series) in cells.items():
            group.stream = self._open(group.stream.name)  # it may have expired
            matrix = np.array(values_of_series, dtype=np.float64)
            group.track_ended(columns, matrix[:, -1])
            matrix = _matrix(len(group.layout), columns, matrix)
            rows += [StreamRow(group.stream, group.layout, *row) for row in zip(times, matrix, strict=True)]
        return rows

    def _assign_groups(self, entries: Entries, time: int) -> None:
        """Assign a group to each series without one, preferring groups that already have this time."""
        unassigned = {member: None for member, _ in entries if member.group is None}
        for group in {member.group for member, _ in entries}:
            if group is not None:
                group.latest = time
        if not unassigned:
            return
        by_target: dict[Target, list[Member]] = {}
        for member in unassigned:
            if member.splits < MAX_SPLITS:
                by_target.setdefault(member.target, []).append(member)
            else:
                group = self._create_group(member.target)
                group.add([member])
                group.is_open = False
        for target, members in by_target.items():
            for group in self._groups.get(target, {}).values():
                if (
                    members
                    and group.latest == time
                    and group.is_open
                    and len(group.members) < MAX_GROUP_SERIES
                ):
                    room = MAX_GROUP_SERIES - len(group.members)
                    group.add(members[:room])
                    members = members[room:]
            for first in range(0, len(members), MAX_GROUP_SERIES):
                group = self._create_group(target)
                group.add(members[first : first + MAX_GROUP_SERIES])
                group.latest = time

    def _create_group(self, target: Target) -> ArrivalGroup:
        stream = self._open(StreamName(target, f"{PREFIX}{self._next}", framed=False))
        self._next += 1
        return self._add_group(stream)

    def _add_group(self, stream: Stream) -> ArrivalGroup:
        group = ArrivalGroup(stream, self._layouts)
        self._groups.setdefault(stream.name.target, {})[stream.name.source] = group
        return group


def _by_times(members_of_series: Iterable[tuple[Member, Samples]]) -> dict[Times, Entries]:
    found: dict[Times, Entries] = {}
    for member, samples in members_of_series:
        times, values = tuple(samples.times), samples.values
        if len(times) != len(values):
            raise InvalidInputError(f"{len(times)} times came with {len(values)} values")
        entries = found.get(times)
        if entries is None:
            entries = found[times] = []
        entries.append((member, values))
    return found


def _has_repeated_times(by_times: dict[Times, Entries]) -> bool:
    """Report whether a series may have several samples at one time, in different lists."""
    several = [times for times in by_times if len(times) > 1]
    if not several:
        return False
    if any(len(set(times)) < len(times) for times in several):
        return True
    members = [member for entries in by_times.values() for member, _ in entries]
    return len(set(members)) < len(members)


def _split_times(samples: Samples) -> Iterator[Samples]:
    for time, value in zip(samples.times, samples.values, strict=True):
        yield Samples(samples.labels, (time,), (value,))


def _matrix(width: int, columns: list[int], values_of_series: Floats) -> Floats:
    """Return one row per time, given one per series; of two for one series, the first is used."""
    matrix: Floats = absent_matrix(values_of_series.shape[1], width)
    if len(set(columns)) == len(columns):
        matrix[:, columns] = values_of_series.T
        return matrix
    for column, line in zip(columns, values_of_series, strict=True):
        free = absent(matrix[:, column])
        matrix[free, column] = line[free]
    return matrix


def split_samples(labels: Labels) -> tuple[Target, Key]:
    """Split labels into those of the target and the rest."""
    if not labels.get(NAME):
        raise InvalidInputError(f"the series {dict(labels)} has no name")
    target = {name: labels[name] for name in TARGET_LABELS if labels.get(name)}
    rest = {name: value for name, value in labels.items() if name not in target}
    return tuple(sorted(target.items())), label_key(rest, {})
