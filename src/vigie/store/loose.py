"""Series that arrive without a frame around them: grouped by what first arrives together.

A group's cells may come in several calls. Where most of a group's cells stay empty its series do not
share their times after all, and each goes on in a group of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from vigie.model.values import is_absent
from vigie.query.storage import Labels
from vigie.store.codec import Floats, absent
from vigie.store.errors import Refused
from vigie.store.head import Head, absent_matrix
from vigie.store.layout import NAME, Key, Layout, Layouts, key_of_labels, unique
from vigie.store.records import StreamName
from vigie.store.stream import Stream

TARGET_LABELS = ("instance", "job")
PREFIX = "series "
JUDGED_EVERY = 16  # rows
NAMES = 100_000  # label sets that are remembered at least
Target = tuple[tuple[str, str], ...]


class Samples(NamedTuple):
    """One series with its own times, in milliseconds."""

    labels: Labels
    times: Sequence[int]
    values: Sequence[float]


class Place(NamedTuple):
    """A row for a stream."""

    stream: Stream
    layout: Layout
    time: int
    row: Floats


class Loose:
    """Knows the group of each loose series."""

    def __init__(self, layouts: Layouts, open_stream: Callable[[StreamName], Stream]) -> None:
        self._layouts = layouts
        self._open = open_stream
        self._home: dict[tuple[Target, Key], tuple[Stream, Layout]] = {}
        self._names: dict[tuple[tuple[str, str], ...], tuple[Target, Key]] = {}
        self._next = 1

    def adopt(self, stream: Stream, layout: Layout) -> None:
        """Note a group that is known from before; a series that left a group stays in the smaller one."""
        self._next = max(self._next, int(stream.name.source.removeprefix(PREFIX)) + 1)
        for key in layout.series:
            home = self._home.get((stream.name.target, key))
            if home is None or len(home[1]) >= len(layout):
                self._home[stream.name.target, key] = (stream, layout)

    def forget(self, stream: Stream) -> None:
        """Forget a group that is gone."""
        self._home = {series: home for series, home in self._home.items() if home[0] is not stream}

    def rows(self, series: Iterable[Samples]) -> list[Place]:
        """Return the samples as rows of their groups."""
        known = [(self._split(samples.labels), samples) for samples in series]
        self._house(known)
        rows: dict[tuple[Stream, int], tuple[Layout, dict[int, float]]] = {}
        for name, samples in known:
            stream, layout = self._home[name]
            column = layout.column[name[1]]
            for time, value in zip(samples.times, samples.values, strict=True):
                cells = rows.get((stream, time))
                if cells is None:
                    cells = rows[stream, time] = (layout, {})
                if value == value or not is_absent(value):  # only what is not a number can be none
                    cells[1].setdefault(column, value)
        return [
            Place(stream, layout, time, _row(layout, cells))
            for (stream, time), (layout, cells) in rows.items()
        ]

    def _split(self, labels: Labels) -> tuple[Target, Key]:
        items = tuple(labels.items())
        name = self._names.get(items)
        if name is None:
            if len(self._names) > 2 * len(self._home) + NAMES:
                self._names.clear()
            name = self._names[items] = split(labels)
        return name

    def judge(self, stream: Stream) -> None:
        """Part the series of a group that mostly do not come together."""
        head = stream.pieces[-1]
        if not isinstance(head, Head) or len(head.layout) == 1 or head.rows % JUDGED_EVERY:
            return
        if absent(head.values).mean() > 0.5:
            for key in head.layout.series:
                self._found(stream.name.target, (key,))

    def _house(self, known: Sequence[tuple[tuple[Target, Key], Samples]]) -> None:
        strangers: dict[tuple[Target, tuple[int, ...]], list[Key]] = {}
        for (target, key), samples in known:
            if (target, key) not in self._home:
                strangers.setdefault((target, tuple(samples.times)), []).append(key)
        for (target, _), keys in strangers.items():
            self._found(target, unique(key for key in keys if (target, key) not in self._home))

    def _found(self, target: Target, keys: tuple[Key, ...]) -> None:
        if not keys:
            return
        layout = self._layouts.of(keys)
        stream = self._open(StreamName(target, f"{PREFIX}{self._next}", framed=False))
        self._next += 1
        for key in keys:
            self._home[target, key] = (stream, layout)


def _row(layout: Layout, cells: Mapping[int, float]) -> Floats:
    row: Floats = absent_matrix(1, len(layout))[0]
    row[list(cells)] = list(cells.values())
    return row


def split(labels: Labels) -> tuple[Target, Key]:
    """Return the labels that name the target, and the rest."""
    if not labels.get(NAME):
        raise Refused(f"the series {dict(labels)} has no name")
    target = {name: labels[name] for name in TARGET_LABELS if labels.get(name)}
    rest = {name: value for name, value in labels.items() if name not in target}
    return tuple(sorted(target.items())), key_of_labels(rest, {})
