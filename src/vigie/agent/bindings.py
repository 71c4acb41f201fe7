"""Current bindings of this node, compared with the previous ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from vigie.agent.source_reader import Outcome, SourceReader
from vigie.model import Binding, Frame, Table
from vigie.model.binding import MAX_NODE_NAMES, SCHEDULER
from vigie.sources.core.tree import to_printable
from vigie.wire.agent_series import EXPORTED, HOLDER

MAX_REPORTED = 16_384  # per agent: of a whole cluster where it polls Slurm
WORD, FACT, FACTS = 253, 200, 16  # characters of a name, characters of a fact, facts of a binding
MAX_ENDED = 16_384  # most recently ended bindings
JITTER_MS = 1000  # difference at which two start times still mean the same start
QUEUE = "queue"  # resource of a pending job

Key = tuple[str, str, str, str]


class BindingListener(Protocol):
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
        self._table = Table(EXPORTED, 0, ())
        self._trimmed: dict[str, tuple[tuple[Binding, ...], list[Binding]]] = {}  # by source, as it was read

    def __call__(self, frame: Frame) -> None:
        """Compare with the previous tick, after a frame was built."""
        if any(reader.outcome is Outcome.PENDING for reader in self._readers):
            return  # a source that was not read yet has no bindings yet
        current = self._read_sources()
        changes = [
            *self._end_reported(),
            *self._end_missing(current, frame.time_ms),
            *self._add_new(current, frame.time_ms),
        ]
        for listener in self._listeners:
            listener.replace_held(changes, tuple(self._held.values()))

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return what is held on this node as series; the server adds them to other nodes."""
        current = [binding for binding in self._read_sources().values() if not binding.node_names]
        labels = [(b.gpu, b.resource, b.holder_kind, b.holder, b.user) for b in current]
        series = tuple((HOLDER, values) for values in labels)
        if series != self._table.series:
            self._table = Table(EXPORTED, self._table.version + 1, series)
        return self._table, (1.0,) * len(series)

    def jobs(self) -> dict[str, list[str]]:
        """Return the jobs that hold each resource of this node now."""
        found: dict[str, list[str]] = {}
        for binding in self._read_sources().values():
            elsewhere = binding.node_names or binding.resource == QUEUE
            if binding.holder_kind == "job" and not elsewhere:
                found.setdefault(binding.resource, []).append(binding.holder)
        return found

    def _read_sources(self) -> dict[Key, Binding]:
        """Return the bindings of all sources. Equal ones are merged: together they know more."""
        found: dict[Key, Binding] = {}
        for binding in (*self._trim_all(), *map(_trim, self._manual())):
            if binding.to_ms is not None:
                continue
            key = _key(binding)
            if key in found:
                found[key] = _merge(found[key], binding)
            elif len(found) < MAX_REPORTED:
                found[key] = binding
        return found

    def _trim_all(self) -> Iterator[Binding]:
        """Yield all that the sources report; what was read once is trimmed once."""
        for reader in self._readers:
            name, bindings = reader.source.name, reader.bindings
            if name not in self._trimmed or self._trimmed[name][0] is not bindings:
                self._trimmed[name] = (bindings, [_trim(one._replace(source=name)) for one in bindings])
            yield from self._trimmed[name][1]

    def _end_reported(self) -> Iterator[Binding]:
        """Yield, once, what a source itself reports as ended; it may never have been seen while it lasted."""
        for binding in self._trim_all():
            key = _key(binding)
            if binding.to_ms is None or self._ended.get(key, -1) >= binding.to_ms:
                continue
            held = self._held.get(key)
            if held and held.from_ms > binding.to_ms:
                continue  # that is a later one
            if held:
                del self._held[key]
            self._remember_end(key, binding.to_ms)
            yield binding._replace(from_ms=held.from_ms if held else binding.from_ms)

    def _remember_end(self, key: Key, end_ms: int) -> None:
        self._ended[key] = end_ms
        self._ended.move_to_end(key)
        if len(self._ended) > MAX_ENDED:
            self._ended.popitem(last=False)

    def _end_missing(self, current: dict[Key, Binding], now: int) -> list[Binding]:
        gone = [binding for key, binding in self._held.items() if not _continues(binding, current.get(key))]
        ended = []
        for binding in gone:
            key = _key(binding)
            # It ended when the next one began.
            end = min(now, current[key].from_ms) if key in current else now
            del self._held[key]
            self._remember_end(key, end)
            ended.append(binding._replace(to_ms=max(end, binding.from_ms)))
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
    """Return what two sources know of one binding.

    The scheduler knows best when it began, else it began when the first of them says so.
    """
    if other.source == SCHEDULER:
        one, other = other, one
    begin_ms = min(filter(None, (one.from_ms, other.from_ms)), default=0)
    facts = {**one.facts, **{name: text for name, text in other.facts.items() if name not in one.facts}}
    return one._replace(
        from_ms=one.from_ms if one.source == SCHEDULER and one.from_ms else begin_ms,
        user=one.user or other.user,
        facts=dict(list(facts.items())[:FACTS]),
    )


def _continues(held: Binding, current: Binding | None) -> bool:
    """Return whether this is the binding held before. A later start means another one."""
    return current is not None and current.from_ms <= held.from_ms + JITTER_MS


def _key(binding: Binding) -> Key:
    node = binding.node_names[0] if binding.node_names else ""
    return node, binding.resource, binding.holder_kind, binding.holder


def _trim(binding: Binding) -> Binding:
    """Shorten texts to what fits into a message."""
    facts = list(binding.facts.items())[:FACTS]
    return binding._replace(
        resource=_trim_name(binding.resource),
        holder_kind=_trim_name(binding.holder_kind),
        holder=_trim_name(binding.holder),
        user=_trim_name(binding.user),
        facts={_trim_name(name): to_printable(text[:FACT]) for name, text in facts},
        node_names=tuple(_trim_name(name) for name in binding.node_names[:MAX_NODE_NAMES]),
    )


def _trim_name(text: str) -> str:
    return to_printable(text[:WORD])
