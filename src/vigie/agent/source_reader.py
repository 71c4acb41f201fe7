"""Reads one source, and keeps its last values, outcome and cost."""

from __future__ import annotations

import enum
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from operator import itemgetter

from vigie.common.clock import Clock
from vigie.model import Binding, Metric, Sample, Table, format_series
from vigie.model.table import TableValues
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

log = logging.getLogger(__name__)


class Outcome(enum.Enum):
    PENDING = "not read yet"
    OK = "ok"
    UNAVAILABLE = "unavailable"
    ERROR = "error"
    HUNG = "hung"


class SourceReader:
    """Reads one source. Its failures do not affect other sources."""

    def __init__(self, source: Source, host: Host, clock: Clock) -> None:
        self.source = source
        self.host = host
        self.outcome = Outcome.PENDING
        self.reason = ""
        self.repeats = 0  # consecutive reads with this outcome
        self.values = TableValues(Table(source.name, 0, ()), ())
        self.bindings: tuple[Binding, ...] = ()
        self.read_at = float("-inf")  # monotonic
        self.duration = 0.0
        self.seconds = 0.0
        self.errors = 0
        self._lock = threading.Lock()
        self._clock = clock
        self._layout = _Layout((), ())
        # Shared, because a late read and its watchdog may both build a table.
        self._versions = itertools.count(1)

    @property
    def busy(self) -> bool:
        """Return whether a read is running. Until it ends, the source is not read again."""
        return self._lock.locked()

    def read(self) -> None:
        """Read the source now, unless it is being read. Never raises."""
        if not self._lock.acquire(blocking=False):
            return
        began = time.perf_counter()
        at = self._clock.monotonic()
        self.host.notes.clear()
        self.host.bindings.clear()
        try:
            self._store(list(self.source.read(self.host)))
            self.bindings = tuple(self.host.bindings)
        except Unavailable as absent:
            self._fail(Outcome.UNAVAILABLE, str(absent))
        except FileNotFoundError as absent:
            self._fail(Outcome.UNAVAILABLE, f"{absent.filename} does not exist")
        except PermissionError as denied:
            self._fail(Outcome.UNAVAILABLE, f"no permission to read {denied.filename}")
        except Exception as error:  # noqa: BLE001 - whatever a source does, it costs only itself
            self._fail(Outcome.ERROR, f"{type(error).__name__}: {error}")
        else:
            self._set_outcome(Outcome.OK, "")
        finally:
            self.host.end_read()
            self.read_at = at
            self.duration = round(time.perf_counter() - began, 7)
            self.seconds += self.duration
            self._lock.release()

    def mark_hung(self, seconds: float) -> None:
        """Mark the running read as hung, and drop the last values."""
        self.duration = seconds
        self._fail(Outcome.HUNG, f"timed out after {seconds:g}s; retried when it returns")

    def _store(self, samples: list[Sample]) -> None:
        if not samples and self.host.bindings:
            self._clear()
            return
        if not samples:
            raise Unavailable("not present on this machine")
        metrics, labels, numbers = zip(*samples, strict=True)
        try:
            # OverflowError: an integer too large for a float is garbage.
            plain = math.isfinite(sum(numbers))
        except TypeError:
            self._store_present(samples)
            return
        if min(numbers) < 0 and self._drop_negative_counters(samples):
            return
        if metrics != self._layout.metrics or labels != self._layout.labels:
            self._layout = _Layout(metrics, labels)
            series = tuple((metrics[i], labels[i]) for i in self._layout.order)
            table = Table(self.source.name, next(self._versions), series)
        else:
            table = self.values.table
        self.values = TableValues(table, self._layout.arrange(numbers), plain)

    def _store_present(self, samples: list[Sample]) -> None:
        present = [sample for sample in samples if sample[2] is not None]
        if len(present) == len(samples):
            raise TypeError("value is neither a number nor None")
        if not present:
            raise Unavailable("no values available")
        self._store(present)

    def _drop_negative_counters(self, samples: list[Sample]) -> bool:
        """Store the samples without negative counters, and return whether there were any."""
        good = [sample for sample in samples if sample[0].kind != "counter" or not (sample[2] or 0) < 0]
        if len(good) == len(samples):
            return False
        for metric, labels, value in samples:
            if metric.kind == "counter" and (value or 0) < 0:
                self.host.note(format_series(metric, labels), f"negative counter: {value}")
        if not good:
            raise Unavailable("all counters are negative")
        self._store(good)
        return True

    def _fail(self, outcome: Outcome, reason: str) -> None:
        self._clear()
        if outcome in (Outcome.ERROR, Outcome.HUNG):
            self.errors += 1  # bindings stay: a failed read does not end them
        else:
            self.bindings = ()
        self._set_outcome(outcome, reason)

    def _clear(self) -> None:
        if self.values.table.series:
            self.values = TableValues(Table(self.source.name, next(self._versions), ()), ())
            self._layout = _Layout((), ())

    def _set_outcome(self, outcome: Outcome, reason: str) -> None:
        if (outcome, reason) != (self.outcome, self.reason):
            bad = outcome in (Outcome.ERROR, Outcome.HUNG)
            if bad or self.outcome in (Outcome.ERROR, Outcome.HUNG):
                level = logging.WARNING if bad else logging.INFO
                log.log(level, "source %s: %s %s", self.source.name, outcome.value, reason)
        self.repeats = self.repeats + 1 if outcome is self.outcome else 1
        self.outcome, self.reason = outcome, reason


class _Layout:
    """Maps the order in which a source yields samples to the table's order, by family."""

    def __init__(self, metrics: tuple[Metric, ...], labels: tuple[tuple[str, ...], ...]) -> None:
        self.metrics, self.labels = metrics, labels
        first: dict[tuple[Metric, tuple[str, ...]], int] = {}
        rank: dict[str, int] = {}
        for i, key in enumerate(zip(metrics, labels, strict=True)):
            first.setdefault(key, i)  # duplicates are dropped
            rank.setdefault(key[0].family, i)
        self.order = sorted(first.values(), key=lambda i: rank[metrics[i].family])
        self._in_order = self.order == list(range(len(metrics)))
        self._pick: Callable[[Sequence[float]], tuple[float, ...]] = (
            itemgetter(*self.order) if len(self.order) > 1 else lambda numbers: (numbers[self.order[0]],)
        )

    def arrange(self, numbers: Sequence[float]) -> tuple[float, ...]:
        """Return the values in the table's order."""
        if self._in_order:
            return tuple(numbers)
        return self._pick(numbers)
