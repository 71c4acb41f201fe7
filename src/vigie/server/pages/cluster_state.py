"""What the server knows besides samples: its nodes, what happened, who holds what, and which jobs run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from vigie.server.cluster.bindings import BindingStore, StoredBinding
from vigie.server.cluster.events import EventFilter, EventStore, StoredEvent
from vigie.server.cluster.filters import BindingFilter
from vigie.server.cluster.jobs import JobRecord
from vigie.server.cluster.nodes import REMOVED, NodeRecord, NodeStore

HOUR_MS = 3_600_000
MAX_BINDINGS, MAX_JOBS, MAX_EVENTS = 200_000, 5_000, 5_000
NO_LEDGERS = "this server reads another engine (--store) and keeps no nodes, events or jobs of its own"


class ClusterState(Protocol):
    """What a page needs to know besides samples; any thread may call."""

    missing: str  # why there is nothing, if so

    def nodes(self) -> list[NodeRecord]:
        """Return every node that belongs to the cluster, by name."""

    def bindings(self, since_ms: int, until_ms: int, user: str = "") -> list[StoredBinding]:
        """Return the bindings that lasted into a span, of one user or of all."""

    def gpu_bindings(self, node: str, gpu: str, since_ms: int, until_ms: int) -> list[StoredBinding]:
        """Return the bindings of one GPU that lasted into a span."""

    def jobs(self, wanted: BindingFilter, most: int = MAX_JOBS) -> list[JobRecord]:
        """Return jobs, the newest first."""

    def hours(self, since_ms: int, until_ms: int) -> dict[str, float]:
        """Return for how many GPU-hours each user held something in a span."""

    def events(self, kinds: Collection[str], since_ms: int, until_ms: int) -> list[StoredEvent]:
        """Return events of these kinds that lasted into a span or began within it, the newest first."""

    def recent(self, since_ms: int, until_ms: int, most: int) -> list[StoredEvent]:
        """Return the newest events of a span, of any kind."""


class LocalClusterState:
    """The registry, the events and the bindings of this server."""

    missing = ""

    def __init__(self, registry: NodeStore, happened: EventStore, book: BindingStore) -> None:
        self._registry, self._events, self._book = registry, happened, book

    def nodes(self) -> list[NodeRecord]:
        return [node for node in self._registry.nodes() if node.state != REMOVED]

    def bindings(self, since_ms: int, until_ms: int, user: str = "") -> list[StoredBinding]:
        return self._book.find(BindingFilter(user=user, since_ms=since_ms, until_ms=until_ms), MAX_BINDINGS)

    def gpu_bindings(self, node: str, gpu: str, since_ms: int, until_ms: int) -> list[StoredBinding]:
        wanted = BindingFilter(node=node, gpu=gpu, since_ms=since_ms, until_ms=until_ms)
        return self._book.find(wanted, MAX_JOBS)

    def hours(self, since_ms: int, until_ms: int) -> dict[str, float]:
        found = self._book.users.find(BindingFilter(since_ms=since_ms, until_ms=until_ms), since_ms, until_ms)
        return {user.name: user.held_ms / HOUR_MS for user in found}

    def jobs(self, wanted: BindingFilter, most: int = MAX_JOBS) -> list[JobRecord]:
        return self._book.jobs.find(wanted, most)

    def events(self, kinds: Collection[str], since_ms: int, until_ms: int) -> list[StoredEvent]:
        return self._events.overlapping(kinds, since_ms, until_ms, MAX_EVENTS)

    def recent(self, since_ms: int, until_ms: int, most: int) -> list[StoredEvent]:
        return self._events.find(EventFilter(since_ms=since_ms, until_ms=until_ms), most)


class EmptyClusterState:
    """A server without ledgers of its own."""

    missing = NO_LEDGERS

    def nodes(self) -> list[NodeRecord]:
        return []

    def bindings(self, *_: object) -> list[StoredBinding]:
        return []

    gpu_bindings = bindings

    def jobs(self, *_: object) -> list[JobRecord]:
        return []

    def hours(self, *_: object) -> dict[str, float]:
        return {}

    def events(self, *_: object) -> list[StoredEvent]:
        return []

    recent = events
