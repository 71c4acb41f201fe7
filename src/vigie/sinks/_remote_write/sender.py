"""Remote write out: frames or series in, batches on a disk queue, delivered in order by a thread."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from vigie.common.change_logger import ChangeLogger
from vigie.common.endpoint import Endpoint
from vigie.common.http_client import HttpClient
from vigie.common.spool import Spool, SpoolRecord
from vigie.model import Frame, Table, table
from vigie.sinks._remote_write.batch import SampleBatch
from vigie.sinks._remote_write.delivery import Delivery, RetryLaterError
from vigie.sinks._remote_write.frame_series import FrameSeries, target_of
from vigie.sinks._remote_write.metrics import DROPPED, FAILURES, OLDEST, QUEUE, SENT
from vigie.wire.remote_write.labels import LruCache, encode_labels
from vigie.wire.remote_write.write_request import Series

MAX_ANSWER = 1 << 20


class RemoteWriteMetrics:
    """Makes the table; a reason has a series from the first sample that is dropped for it."""

    def __init__(self, sink: RemoteWrite) -> None:
        self._sink = sink
        self._table = Table("remote_write", 0, ())

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        state = self._sink.state()
        reasons = sorted(state.dropped)
        series: tuple[table.Series, ...] = ((SENT, ()), (FAILURES, ()), (QUEUE, ()), (OLDEST, ()))
        series += tuple((DROPPED, (reason,)) for reason in reasons)
        if series != self._table.series:
            self._table = Table("remote_write", self._table.version + 1, series)
        numbers = (state.sent, state.failures, state.queue_bytes, round(state.oldest_seconds, 3))
        return self._table, (*numbers, *(state.dropped[reason] for reason in reasons))


class RemoteWriteOptions(NamedTuple):
    """How to send; the defaults suit one node as well as a server."""

    external_labels: tuple[tuple[str, str], ...] = ()
    queue_bytes: int = 64 << 20
    batch_samples: int = 2000
    batch_seconds: float = 5.0
    request_seconds: float = 30.0
    first_pause: float = 0.5
    longest_pause: float = 60.0


class QueueState(NamedTuple):
    sent: int
    dropped: dict[str, int]
    queue_bytes: int
    oldest_seconds: float
    failures: int
    complaint: str


class RemoteWrite:
    """Takes samples at once and sends them in its own time; nothing is lost while the queue has room."""

    def __init__(
        self,
        target: Endpoint,
        directory: Path,
        options: RemoteWriteOptions = RemoteWriteOptions(),  # noqa: B008 - it cannot be changed
        clock: Callable[[], float] = time.time,
    ) -> None:
        target.check()
        self._options, self._clock = options, clock
        self._external = dict(options.external_labels)
        self._frames = FrameSeries(self._external)
        self._sections: LruCache[int, tuple[Mapping[str, str], bytes]] = LruCache(200_000)
        self._batch = SampleBatch()
        self._batch_since = 0.0
        self._spool = Spool(directory, options.queue_bytes)
        self._client = HttpClient(target, options.request_seconds, MAX_ANSWER)
        parts = target.parts()
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._delivery = Delivery(self._client, path, clock)
        name = f"remote write to {target.name}"
        self._failing, self._dropping, self._storing = (
            ChangeLogger(name),
            ChangeLogger(name),
            ChangeLogger(name),
        )
        self._failures = self._in_a_row = 0
        self._stop_at: float | None = None
        self._closed = False
        self._seen = self._state()
        self.metrics = RemoteWriteMetrics(self)
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="remote write", daemon=True)
        self._thread.start()

    def write(self, frame: Frame, node: str) -> None:
        self.write_frame(target_of(node), frame)

    def write_frame(self, target: Mapping[str, str], frame: Frame) -> None:
        with self._changed:
            if self._is_open():
                self._frames.add(frame, target, self._batch)
            self._flush_if_due()

    def write_series(self, series: Iterable[Series]) -> None:
        """Take series as they came from elsewhere, stale markers among their values."""
        with self._changed:
            if self._is_open():
                for labels, times, values in series:
                    self._batch.add(self._section(labels), times, values)
            self._flush_if_due()

    def end(self, target: Mapping[str, str]) -> None:
        """End all series of a target with stale markers."""
        now = round(self._clock() * 1000)
        with self._changed:
            if self._is_open():
                self._frames.end(target, now, self._batch)
            self._flush_if_due()

    def close(self, seconds: float = 5.0) -> None:
        """End all series, send for at most so many seconds, and leave the rest on disk."""
        for target in self._frames.targets():
            self.end(target)
        with self._changed:
            self._flush()
            self._stop_at = time.monotonic() + seconds
            self._changed.notify()
        self._thread.join(seconds)
        self._client.abort()
        self._thread.join(1.0)
        self.state()
        self._closed = True
        if not self._thread.is_alive():
            self._client.close()
            self._spool.close()

    def state(self) -> QueueState:
        """Return the counts since the start, and what waits; as of before when the disk holds us up."""
        if self._changed.acquire(timeout=0.2):
            try:
                if not self._closed:
                    self._seen = self._state()
            finally:
                self._changed.release()
        return self._seen

    def _state(self) -> QueueState:
        oldest = self._spool.oldest_ms
        age = self._clock() - oldest / 1000 if oldest is not None else 0.0
        dropped = dict(self._delivery.dropped)
        if self._spool.dropped:
            dropped["queue full"] = self._spool.dropped
        complaint = self._failing.text or self._storing.text or self._dropping.text
        return QueueState(
            self._delivery.sent, dropped, self._spool.bytes, max(0.0, age), self._failures, complaint
        )

    def _section(self, labels: Mapping[str, str]) -> bytes:
        # The same labels come as the same object again and again: keeping it keeps its id its own.
        kept = self._sections.get(id(labels))
        if kept is None or kept[0] is not labels:
            kept = (labels, encode_labels({**self._external, **labels}))
            self._sections.put(id(labels), kept)
        return kept[1]

    def _is_open(self) -> bool:
        if not self._batch.count:
            self._batch_since = time.monotonic()
        return self._stop_at is None  # else it is too late: the queue is closed

    def _flush_if_due(self) -> None:
        full = self._batch.count >= self._options.batch_samples
        if full or (self._batch.count and self._until_flush() <= 0):
            self._flush()
        self._changed.notify()

    def _until_flush(self) -> float:
        return self._batch_since + self._options.batch_seconds - time.monotonic()

    def _flush(self) -> None:
        now = round(self._clock() * 1000)
        before = self._spool.dropped
        for body in self._batch.bodies(self._options.batch_samples):
            self._spool.put(SpoolRecord(body.samples, now, body.bytes))
        if self._spool.dropped > before:
            self._dropping(f"the queue of {self._options.queue_bytes} bytes is full, dropping the oldest")
        damaged = f"{self._spool.damaged} bytes of the queue were damaged" if self._spool.damaged else ""
        self._storing(self._spool.trouble or damaged)

    def _run(self) -> None:
        pause = 0.0
        while True:
            with self._changed:
                record = self._due(pause)
            if record is None:
                return
            try:
                self._delivery.send(record, record.samples, record.body)
                with self._changed:
                    self._spool.take(record)
            except RetryLaterError as later:
                pause = self._failed(str(later), later.seconds)
            except OSError as error:
                pause = self._failed(str(error), 0.0)
            else:
                pause = 0.0
                self._in_a_row = 0
                self._failing("")
                if self._delivery.refusal:
                    self._dropping(f"refused samples are dropped: {self._delivery.refusal}")

    def _due(self, pause: float) -> SpoolRecord | None:
        """Wait until there is a record to send and the pause is over; None means stop."""
        not_before = time.monotonic() + pause
        while True:
            if self._batch.count and self._until_flush() <= 0:
                self._flush()
            now = time.monotonic()
            record = self._spool.peek()
            if self._stop_at is not None and (record is None or pause or now >= self._stop_at):
                return None
            if record and now >= not_before:
                return record
            waits = [not_before - now] if record else []
            waits += [self._until_flush()] if self._batch.count else []
            self._changed.wait(max(0.001, min(waits)) if waits else None)

    def _failed(self, why: str, wanted: float) -> float:
        """Complain, and return for how long to wait."""
        self._failures += 1
        self._failing(f"{why}; the samples wait on disk")
        longest = min(self._options.longest_pause, self._options.first_pause * 2.0 ** min(self._in_a_row, 20))
        self._in_a_row += 1
        # Jitter keeps a thousand nodes from coming back in the same moment.
        return max(wanted, longest * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
