"""Finds the streams and columns that matchers fit: by metric name, by target, then within each layout.

Labels of a target are asked about once a target; the others once a layout, which nodes of a kind share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from vigie.query.storage import Matcher
from vigie.store.chunk import Bands, Cut, cuts_of
from vigie.store.condition import Condition, condition_of
from vigie.store.layout import NAME, Columns, Layout, unique
from vigie.store.outline import Outline
from vigie.store.stream import Stream

Target = tuple[tuple[str, str], ...]
MOST_FITS = 16  # questions that are remembered of a layout


class Found(NamedTuple):
    """A stream that may have what is asked for, and what is still to ask of its layouts."""

    stream: Stream
    target: Mapping[str, str]
    conditions: tuple[Condition, ...]


class Index:
    """Every stream by target and source, and by the metric names that it has or had."""

    def __init__(self) -> None:
        self._streams: dict[Target, dict[str, Stream]] = {}
        self._by_name: dict[str, dict[Stream, None]] = {}
        self._noted: dict[Stream, dict[Outline, None]] = {}

    def __iter__(self) -> Iterator[Stream]:
        for streams in self._streams.values():
            yield from streams.values()

    def get(self, target: Target, source: str) -> Stream | None:
        """Return a stream that is known."""
        return self._streams.get(target, {}).get(source)

    def add(self, stream: Stream) -> None:
        """Make a stream known."""
        self._streams.setdefault(stream.name.target, {})[stream.name.source] = stream
        self._noted[stream] = {}

    def note(self, stream: Stream, outline: Outline) -> None:
        """Note that a stream has series of these names."""
        noted = self._noted[stream]
        if outline not in noted:
            noted[outline] = None
            for name in outline.metrics:
                self._by_name.setdefault(name, {})[stream] = None

    def renew(self, stream: Stream, outlines: Iterable[Outline]) -> None:
        """Forget the names that a stream has no more; without any rows it is forgotten itself."""
        self._unname(stream)
        if not stream.spans and not stream.pieces:
            self.remove(stream)
            return
        for outline in outlines:
            self.note(stream, outline)

    def remove(self, stream: Stream) -> None:
        """Forget a stream."""
        self._unname(stream)
        del self._noted[stream]
        streams = self._streams[stream.name.target]
        del streams[stream.name.source]
        if not streams:
            del self._streams[stream.name.target]

    def targets(self, matchers: Sequence[Matcher]) -> list[Target]:
        """Return the targets whose own labels fit."""
        conditions = [Condition(matcher) for matcher in matchers]
        return [target for target in self._streams if _fits(dict(target), conditions)]

    def streams_of(self, target: Target) -> list[Stream]:
        """Return all streams of a target."""
        return list(self._streams.get(target, {}).values())

    def find(self, matchers: Sequence[Matcher]) -> Iterator[Found]:
        """Yield the streams that the matchers may fit."""
        conditions = [condition_of(matcher) for matcher in matchers]
        for target, streams in self._candidates(conditions):
            verdict = _judged(target, conditions)
            if verdict is not None:
                for stream in streams:
                    yield Found(stream, *verdict)

    def _candidates(self, conditions: Sequence[Condition]) -> Iterable[tuple[Target, Collection[Stream]]]:
        for condition in conditions:
            if condition.label == NAME and condition.exactly:
                targets: dict[Target, list[Stream]] = {}
                for stream in self._by_name.get(condition.exactly, ()):
                    targets.setdefault(stream.name.target, []).append(stream)
                return targets.items()
        return [(target, list(streams.values())) for target, streams in self._streams.items()]

    def _unname(self, stream: Stream) -> None:
        for name in {name for outline in self._noted[stream] for name in outline.metrics}:
            streams = self._by_name[name]
            del streams[stream]
            if not streams:
                del self._by_name[name]
        self._noted[stream] = {}


class Plan(NamedTuple):
    """Which series pieces of several layouts have together, and which of these lines each layout fills."""

    layout: Layout
    columns: Columns
    lines: Mapping[Layout, Columns | None]  # None for "all, in this order"


class Matches:
    """Remembers, within one question, which columns of a layout fit, and how layouts go together."""

    def __init__(self) -> None:
        self._plans: dict[tuple[tuple[Layout, ...], tuple[Condition, ...]], Plan] = {}

    def columns(self, layout: Layout, conditions: tuple[Condition, ...]) -> Columns:
        """Return the columns that meet the conditions."""
        return _fits_of(layout, conditions).columns

    def cuts(self, layout: Layout, conditions: tuple[Condition, ...], bands: Bands) -> list[Cut]:
        """Return the same, band by band."""
        fits = _fits_of(layout, conditions)
        cuts = fits.cuts.get(len(bands))
        if cuts is None:
            cuts = fits.cuts[len(bands)] = cuts_of(bands, fits.columns)
        return cuts

    def plan(self, layouts: tuple[Layout, ...], conditions: tuple[Condition, ...]) -> Plan:
        """Return how the fitting columns of these layouts stand in one matrix."""
        key = (layouts, conditions)
        if key not in self._plans:
            self._plans[key] = self._planned(layouts, conditions)
        return self._plans[key]

    def _planned(self, layouts: tuple[Layout, ...], conditions: tuple[Condition, ...]) -> Plan:
        if len(layouts) == 1:
            return Plan(layouts[0], self.columns(layouts[0], conditions), {layouts[0]: None})
        keys = {layout: _fits_of(layout, conditions).keys for layout in layouts}
        most = max(layouts, key=lambda layout: len(keys[layout]))
        if all(some == keys[most] for some in keys.values()):
            return Plan(most, self.columns(most, conditions), dict.fromkeys(layouts))
        together = unique(key for layout in (most, *layouts) for key in keys[layout])
        line = {key: i for i, key in enumerate(together)}
        lines = {
            layout: None if some == together else np.array([line[key] for key in some], dtype=np.intp)
            for layout, some in keys.items()
        }
        if len(together) == len(keys[most]):
            return Plan(most, self.columns(most, conditions), lines)
        return Plan(Layout(together), np.arange(len(together)), lines)


class _Fits:
    """What of a layout meets some conditions."""

    def __init__(self, layout: Layout, conditions: tuple[Condition, ...]) -> None:
        self.columns = layout.match(conditions)
        self.keys = tuple([layout.series[i] for i in self.columns.tolist()])
        self.cuts: dict[int, list[Cut]] = {}  # by how many bands there are


# Kept beyond a question for as long as the layout lives: dashboards ask about the same metrics all the time.
_known_fits: WeakKeyDictionary[Layout, dict[tuple[Condition, ...], _Fits]] = WeakKeyDictionary()


def _fits_of(layout: Layout, conditions: tuple[Condition, ...]) -> _Fits:
    known = _known_fits.get(layout)
    if known is None or len(known) > MOST_FITS:
        known = _known_fits[layout] = {}
    fits = known.get(conditions)
    if fits is None:
        fits = known[conditions] = _Fits(layout, conditions)
    return fits


def _judged(
    target: Target, conditions: Sequence[Condition]
) -> tuple[dict[str, str], tuple[Condition, ...]] | None:
    labels = dict(target)
    own = [condition for condition in conditions if condition.label in labels]
    if not _fits(labels, own):
        return None
    return labels, tuple(condition for condition in conditions if condition.label not in labels)


def _fits(labels: Mapping[str, str], conditions: Iterable[Condition]) -> bool:
    return all(condition.test(labels.get(condition.label, "")) for condition in conditions)
