"""Current bindings of this node, compared with the previous ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Protocol

from vigie.agent.source_reader import Outcome, SourceReader
from vigie.model import Binding, Frame, Table
from vigie.sources.core.tree import to_printable
from vigie.wire.agent_series import HOLDER

MAX_NODE_BINDINGS = 2048  # per node
WORD, FACT, FACTS = 253, 200, 8  # characters of a name, characters of a fact, facts of a binding
MAX_ENDED = 1024  # most recently ended bindings
JITTER_MS = 1000  # difference at which two start times still mean the same start
QUEUE = "queue"  # resource of a pending job

Key = tuple[str, str, str]


class BindingListener(Protocol):
    """Receives changes of bindings."""

    def replace_held(self, changes: Sequence[Binding], held: Sequence[Binding]) -> None:
        """Take bindings that began or ended, and the set of current ones."""


class BindingTracker:
    """Reports, after each tick, which bindings began and ended."""

    def __init__(
        self,
        readers: Sequence[SourceReader],
        listeners: Sequence[BindingListener] = (),
        manual: Callable[[], Sequence[Binding]] = tuple,
    ) -> None:
        self._readers, self._listeners, self._manual = readers, listeners, manual
        self._held: dict[Key, Binding] = {}
        self._ended: OrderedDict[Key, int] = OrderedDict()
        self._table = Table("bindings", 0, ())

    def __call__(self, frame: Frame) -> None:
        """Compare with the previous tick, after a frame was built."""
        if any(reader.outcome is Outcome.PENDING for reader in self._readers):
            return  # a source that was not read yet has no bindings yet
        current = self._read_sources()
        changes = [*self._end_missing(current, frame.time_ms), *self._add_new(current, frame.time_ms)]
        for listener in self._listeners:
            listener.replace_held(changes, tuple(self._held.values()))

    def table(self) -> tuple[Table, tuple[float, ...]]:
        labels = [(b.gpu, b.resource, b.holder_kind, b.holder, b.user) for b in self._read_sources().values()]
        series = tuple((HOLDER, values) for values in labels)
        if series != self._table.series:
            self._table = Table("bindings", self._table.version + 1, series)
        return self._table, (1.0,) * len(series)

    def jobs(self) -> dict[str, list[str]]:
        """Return the jobs that hold each resource of this node now."""
        found: dict[str, list[str]] = {}
        for binding in self._read_sources().values():
            if binding.holder_kind == "job" and binding.resource != QUEUE:
                found.setdefault(binding.resource, []).append(binding.holder)
        return found

    def _read_sources(self) -> dict[Key, Binding]:
        """Return the bindings of all sources. Equal ones are merged: together they know more."""
        found: dict[Key, Binding] = {}
        named = [
            one._replace(source=reader.source.name) for reader in self._readers for one in reader.bindings
        ]
        for binding in (*named, *self._manual()):
            trimmed = _trim(binding)
            key = _key(trimmed)
            if key in found:
                found[key] = _merge(found[key], trimmed)
            elif len(found) < MAX_NODE_BINDINGS:
                found[key] = trimmed
        return found

    def _end_missing(self, current: dict[Key, Binding], now: int) -> list[Binding]:
        gone = [binding for key, binding in self._held.items() if not _continues(binding, current.get(key))]
        ended = []
        for binding in gone:
            key = _key(binding)
            end = (
                min(now, current[key].from_ms) if key in current else now
            )  # it ended when the next one began
            del self._held[key]
            self._ended[key] = end
            ended.append(binding._replace(to_ms=max(end, binding.from_ms)))
            if len(self._ended) > MAX_ENDED:
                self._ended.popitem(last=False)
        return ended

    def _add_new(self, current: dict[Key, Binding], now: int) -> list[Binding]:
        come = []
        for key, binding in current.items():
            held = self._held.get(key)
            # A binding that returns after its end needs a later start, to be distinct from the ended one.
            begin = binding.from_ms if binding.from_ms >= max(self._ended.get(key, 1), 1) else now
            new = binding._replace(from_ms=held.from_ms if held else begin)
            if new != held:
                self._held[key] = new
                come.append(new)
        return come


def _merge(one: Binding, other: Binding) -> Binding:
    """Return what two sources know of one binding; it began when the first of them says so."""
    return one._replace(
        from_ms=min(filter(None, (one.from_ms, other.from_ms)), default=0),
        user=one.user or other.user,
        facts=dict(list({**other.facts, **one.facts}.items())[:FACTS]),
    )


def _continues(held: Binding, current: Binding | None) -> bool:
    """Return whether this is the binding held before. A later start means another one."""
    return current is not None and current.from_ms <= held.from_ms + JITTER_MS


def _key(binding: Binding) -> Key:
    return binding.resource, binding.holder_kind, binding.holder


def _trim(binding: Binding) -> Binding:
    """Shorten texts to what fits into a message."""
    facts = list(binding.facts.items())[:FACTS]
    return binding._replace(
        resource=_trim_name(binding.resource),
        holder_kind=_trim_name(binding.holder_kind),
        holder=_trim_name(binding.holder),
        user=_trim_name(binding.user),
        facts={_trim_name(name): to_printable(text[:FACT]) for name, text in facts},
    )


def _trim_name(text: str) -> str:
    return to_printable(text[:WORD])
