"""Sources with behaviour: they hang, fail and return as told."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from vigie.agent.source_reader import SourceReader
from vigie.model import Sample, gauge
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

VALUE = gauge("vigie_test_value", "A value for tests.", "source")


def steady(name: str, value: float | None = 1.0, *, slow: bool = False, every: float = 0) -> Source:
    """Return a source that always gives one value."""

    def read(_: Host) -> Iterator[Sample]:
        yield VALUE, (name,), value

    return Source(name, (VALUE,), read, slow=slow, every=every)


def failing(name: str, error: BaseException) -> Source:
    """Return a source that raises."""

    def read(_: Host) -> Iterator[Sample]:
        raise error
        yield

    return Source(name, (VALUE,), read)


class Hanging:
    """A source that does not return until it is let go."""

    def __init__(self, name: str) -> None:
        self.go = threading.Event()
        self.entered = threading.Event()
        self.reads = 0
        self.source = Source(name, (VALUE,), self._read)

    def _read(self, _: Host) -> Iterator[Sample]:
        self.reads += 1
        self.entered.set()
        self.go.wait()
        yield VALUE, (self.source.name,), 1.0


def reading(source: Source, clock: SimulatedClock | None = None) -> SourceReader:
    """Return a reading of a source on this host."""
    return SourceReader(source, Host(), clock or SimulatedClock())
