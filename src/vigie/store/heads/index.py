"""Finds streams by matchers: by metric name, by target, then within each layout.

Target labels are matched once per target, series labels once per layout, which similar nodes share.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from vigie.query.storage import Matcher
from vigie.store.heads.stream import Stream
from vigie.store.series.layout import NAME, Target
from vigie.store.series.matcher import CompiledMatcher, compile_matcher
from vigie.store.series.schema import Schema

MAX_MENTIONS = (
    4  # per stream and matching name, up to which the name index pays; above, all streams may match
)


class StreamMatch(NamedTuple):
    """A stream that may match, and the conditions left for its layouts."""

    stream: Stream
    target: Mapping[str, str]
    conditions: tuple[CompiledMatcher, ...]


class _TargetLabels(NamedTuple):
    names: tuple[str, ...]
    labels: Mapping[str, str]


class Index:
    """Streams by target and source, and by the metric names they have or had."""

    def __init__(self) -> None:
        self._streams: dict[Target, dict[str, Stream]] = {}
        self._by_name: dict[str, dict[Stream, None]] = {}
        self._schemas_of: dict[Stream, dict[Schema, None]] = {}
        self._target_labels: dict[Target, _TargetLabels] = {}

    def __iter__(self) -> Iterator[Stream]:
        for streams in self._streams.values():
            yield from streams.values()

    def get(self, target: Target, source: str) -> Stream | None:
        return self._streams.get(target, {}).get(source)

    def add(self, stream: Stream) -> None:
        target = stream.name.target
        self._streams.setdefault(target, {})[stream.name.source] = stream
        self._schemas_of[stream] = {}
        if target not in self._target_labels:
            self._target_labels[target] = _TargetLabels(tuple([name for name, _ in target]), dict(target))

    def add_schema(self, stream: Stream, schema: Schema) -> None:
        """Add the metric names of a schema to a stream."""
        known = self._schemas_of[stream]
        if schema not in known:
            known[schema] = None
            for name in schema.metrics:
                self._by_name.setdefault(name, {})[stream] = None

    def schemas(self, stream: Stream) -> Collection[Schema]:
        return self._schemas_of.get(stream, ())

    def set_schemas(self, stream: Stream, schemas: Iterable[Schema]) -> None:
        """Replace the schemas of a stream; a stream without rows is removed."""
        self._remove_names(stream)
        if not stream.spans and not stream.pieces:
            self.remove(stream)
            return
        for schema in schemas:
            self.add_schema(stream, schema)

    def remove(self, stream: Stream) -> None:
        self._remove_names(stream)
        del self._schemas_of[stream]
        streams = self._streams[stream.name.target]
        del streams[stream.name.source]
        if not streams:
            del self._streams[stream.name.target]
            del self._target_labels[stream.name.target]

    def targets(self, matchers: Sequence[Matcher]) -> list[Target]:
        conditions = [CompiledMatcher(matcher) for matcher in matchers]
        return [target for target, own in self._target_labels.items() if _matches(own.labels, conditions)]

    def streams_of(self, target: Target) -> list[Stream]:
        return list(self._streams.get(target, {}).values())

    def find(self, matchers: Sequence[Matcher]) -> Iterator[StreamMatch]:
        """Yield the streams that may match."""
        conditions = [compile_matcher(matcher) for matcher in matchers]
        split: dict[tuple[str, ...], _SplitConditions] = {}  # by the label names of a target
        for target, streams in self._candidates(conditions):
            names, labels = self._target_labels[target]
            if names not in split:
                split[names] = _split_conditions(names, conditions)
            own, rest = split[names]
            if _matches(labels, own):
                for stream in streams:
                    yield StreamMatch(stream, labels, rest)

    def _candidates(
        self, conditions: Sequence[CompiledMatcher]
    ) -> Iterable[tuple[Target, Collection[Stream]]]:
        named = [condition for condition in conditions if condition.label == NAME]
        if named and not all(condition.test("") for condition in named):
            some = [self._by_name[name] for name in self._names(named)]
            if len(some) == 1 or sum(map(len, some)) <= MAX_MENTIONS * len(self._schemas_of):
                targets: dict[Target, dict[Stream, None]] = {}
                for stream in chain.from_iterable(some):
                    targets.setdefault(stream.name.target, {})[stream] = None
                return targets.items()
        return [(target, list(streams.values())) for target, streams in self._streams.items()]

    def _names(self, named: Sequence[CompiledMatcher]) -> list[str]:
        """Return the metric names that meet all conditions."""
        listed = next((condition.values for condition in named if condition.values is not None), None)
        names = self._by_name if listed is None else [name for name in listed if name in self._by_name]
        return [name for name in names if all(condition.test(name) for condition in named)]

    def _remove_names(self, stream: Stream) -> None:
        for name in {name for schema in self._schemas_of[stream] for name in schema.metrics}:
            streams = self._by_name[name]
            del streams[stream]
            if not streams:
                del self._by_name[name]
        self._schemas_of[stream] = {}


class _SplitConditions(NamedTuple):
    """Conditions on target labels, and those on series labels."""

    own: tuple[CompiledMatcher, ...]
    rest: tuple[CompiledMatcher, ...]


def _split_conditions(names: Collection[str], conditions: Sequence[CompiledMatcher]) -> _SplitConditions:
    return _SplitConditions(
        tuple(condition for condition in conditions if condition.label in names),
        tuple(condition for condition in conditions if condition.label not in names),
    )


def _matches(labels: Mapping[str, str], conditions: Iterable[CompiledMatcher]) -> bool:
    return all(condition.test(labels.get(condition.label, "")) for condition in conditions)
