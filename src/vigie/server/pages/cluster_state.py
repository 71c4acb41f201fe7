"""What the server knows besides samples: its nodes, what happened, who holds what, and which jobs run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from vigie.server.cluster.bindings import Book, Kept
from vigie.server.cluster.events import Events
from vigie.server.cluster.events import Kept as Happened
from vigie.server.cluster.events import Wanted as WantedEvents
from vigie.server.cluster.filters import Wanted
from vigie.server.cluster.jobs import Job
from vigie.server.cluster.nodes import REMOVED, Node, Registry

HOUR_MS = 3_600_000
MOST_BINDINGS, MOST_JOBS, MOST_EVENTS = 200_000, 5_000, 5_000
NO_LEDGERS = "this server reads another engine (--store) and keeps no nodes, events or jobs of its own"


class Known(Protocol):
    """What a page needs to know besides samples; any thread may call."""

    missing: str  # why there is nothing, if so

    def nodes(self) -> list[Node]:
        """Return every node that belongs to the cluster, by name."""

    def held(self, since_ms: int, until_ms: int, user: str = "") -> list[Kept]:
        """Return the bindings that lasted into a span, of one user or of all."""

    def held_on(self, node: str, gpu: str, since_ms: int, until_ms: int) -> list[Kept]:
        """Return the bindings of one GPU that lasted into a span."""

    def jobs(self, wanted: Wanted, most: int = MOST_JOBS) -> list[Job]:
        """Return jobs, the newest first."""

    def hours(self, since_ms: int, until_ms: int) -> dict[str, float]:
        """Return for how many GPU-hours each user held something in a span."""

    def events(self, kinds: Collection[str], since_ms: int, until_ms: int) -> list[Happened]:
        """Return events of these kinds that lasted into a span or began within it, the newest first."""

    def recent(self, since_ms: int, until_ms: int, most: int) -> list[Happened]:
        """Return the newest events of a span, of any kind."""


class Ledgers:
    """The registry, the events and the bindings of this server."""

    missing = ""

    def __init__(self, registry: Registry, happened: Events, book: Book) -> None:
        self._registry, self._events, self._book = registry, happened, book

    def nodes(self) -> list[Node]:
        """Return every node that belongs to the cluster, by name."""
        return [node for node in self._registry.nodes() if node.state != REMOVED]

    def held(self, since_ms: int, until_ms: int, user: str = "") -> list[Kept]:
        """Return the bindings that lasted into a span, of one user or of all."""
        return self._book.find(Wanted(user=user, since_ms=since_ms, until_ms=until_ms), MOST_BINDINGS)

    def held_on(self, node: str, gpu: str, since_ms: int, until_ms: int) -> list[Kept]:
        """Return the bindings of one GPU that lasted into a span."""
        wanted = Wanted(node=node, gpu=gpu, since_ms=since_ms, until_ms=until_ms)
        return self._book.find(wanted, MOST_JOBS)

    def hours(self, since_ms: int, until_ms: int) -> dict[str, float]:
        """Return for how many GPU-hours each user held something in a span."""
        found = self._book.users.find(Wanted(since_ms=since_ms, until_ms=until_ms), since_ms, until_ms)
        return {user.name: user.held_ms / HOUR_MS for user in found}

    def jobs(self, wanted: Wanted, most: int = MOST_JOBS) -> list[Job]:
        """Return jobs, the newest first."""
        return self._book.jobs.find(wanted, most)

    def events(self, kinds: Collection[str], since_ms: int, until_ms: int) -> list[Happened]:
        """Return events of these kinds that lasted into a span or began within it, the newest first."""
        return self._events.lasting(kinds, since_ms, until_ms, MOST_EVENTS)

    def recent(self, since_ms: int, until_ms: int, most: int) -> list[Happened]:
        """Return the newest events of a span, of any kind."""
        return self._events.find(WantedEvents(since_ms=since_ms, until_ms=until_ms), most)


class Nothing:
    """A server without ledgers of its own."""

    missing = NO_LEDGERS

    def nodes(self) -> list[Node]:
        """Return nobody."""
        return []

    def held(self, *_: object) -> list[Kept]:
        """Return nothing."""
        return []

    held_on = held

    def jobs(self, *_: object) -> list[Job]:
        """Return none."""
        return []

    def hours(self, *_: object) -> dict[str, float]:
        """Return none."""
        return {}

    def events(self, *_: object) -> list[Happened]:
        """Return none."""
        return []

    recent = events
