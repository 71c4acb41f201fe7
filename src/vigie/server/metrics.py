"""What the server says of itself on /metrics."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import vigie
from vigie.common import process_metrics
from vigie.model import Metric, Table, counter, gauge, info
from vigie.model.table import Series, TableValues
from vigie.wire.exposition.renderer import Format, Renderer

HEALTH = ("up", "down", "unknown")
SCRAPE_METRICS = (
    TARGETS := gauge(
        "vigie_server_targets", "Exporters that are scraped, by how the last one went.", "health"
    ),
    SCRAPES := counter("vigie_server_scrapes_total", "Scrapes of exporters."),
    SCRAPES_FAILED := counter("vigie_server_scrapes_failed_total", "Scrapes that failed."),
    SCRAPED_SAMPLES := counter("vigie_server_scraped_samples_total", "Samples that scrapes brought."),
)
SCRAPE_TABLE = Table(
    "server scrape",
    1,
    (
        *((TARGETS, (health,)) for health in HEALTH),
        (SCRAPES, ()),
        (SCRAPES_FAILED, ()),
        (SCRAPED_SAMPLES, ()),
    ),
)
LINK_METRICS = (
    gauge("vigie_server_links", "Agents on the line."),
    counter("vigie_server_link_frames_total", "Frames taken from agents."),
    counter("vigie_server_link_samples_total", "Samples taken from agents."),
    counter("vigie_server_link_events_total", "Events taken from agents."),
    counter("vigie_server_link_bindings_total", "Beginnings and ends of bindings taken from agents."),
    counter("vigie_server_link_refused_total", "Frames and events of agents that cannot be stored."),
)
WAYS = ("password", "token", "link")
AUTH_METRICS = (
    SIGN_INS := counter("vigie_server_sign_ins_total", "Passwords that were checked and right."),
    SIGN_INS_FAILED := counter(
        "vigie_server_sign_ins_failed_total", "What was shown to get in and was wrong.", "by"
    ),
    SIGN_INS_THROTTLED := counter(
        "vigie_server_sign_ins_throttled_total",
        "Passwords that were not looked at, because too many had failed.",
    ),
)
AUTH_TABLE = Table(
    "access", 1, ((SIGN_INS, ()), *((SIGN_INS_FAILED, (way,)) for way in WAYS), (SIGN_INS_THROTTLED, ()))
)
QUEUE_METRICS = (
    WAITING := gauge("vigie_server_waiting", "What waits for its turn within the server.", "queue"),
)
KINDS = ("query", "query_range", "series", "labels", "label_values", "federate", "metadata", "tsdb")
PARTS = ("blocks", "log")
METRICS: tuple[Metric, ...] = (
    info("vigie_server_build_info", "The version of the server.", "version"),
    QUESTIONS := counter("vigie_server_queries_total", "Queries run.", "kind"),
    FAILED := counter("vigie_server_queries_failed_total", "Queries that failed.", "kind"),
    SECONDS := counter("vigie_server_query_seconds_total", "Time that queries took.", "kind"),
    counter("vigie_server_query_forks_total", "Queries run in a process of their own."),
    counter("vigie_server_writes_total", "Remote write requests taken."),
    counter("vigie_server_writes_refused_total", "Remote write requests of which something was refused."),
    counter("vigie_server_write_bytes_total", "Bytes of remote write requests, as they came."),
    counter("vigie_server_samples_total", "Samples taken by remote write."),
    counter("vigie_server_syncs_total", "Times the store was synced for remote write."),
    STORE := gauge("vigie_server_store_bytes", "Bytes of the store on disk.", "part"),
    gauge("vigie_server_store_damages", "Damages found in the store since it was opened."),
    gauge("vigie_server_series", "Series that the newest rows of the store have."),
)


class ScrapeMetrics:
    """Counts scrapes; only the scraper's thread does."""

    def __init__(self) -> None:
        self.scrapes = self.failed = self.samples = 0

    def values(self, healths: Iterable[str]) -> tuple[float, ...]:
        """Return the numbers of the table."""
        found = Counter(healths)
        return (*(found[health] for health in HEALTH), self.scrapes, self.failed, self.samples)


class LinkMetricsTable:
    def __init__(self, counts: LinkMetrics, connected: Callable[[], int]) -> None:
        self._counts, self._connected = counts, connected
        self._table = Table("links", 1, tuple((metric, ()) for metric in LINK_METRICS))

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        counts = self._counts
        taken = (counts.frames, counts.samples, counts.events, counts.bindings)
        return self._table, (self._connected(), *taken, counts.refused)


class AuthMetrics:
    """How many came in, and how many did not."""

    def __init__(self) -> None:
        self.signed = self.throttled = 0
        self.failed = dict.fromkeys(WAYS, 0)

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        return AUTH_TABLE, (self.signed, *self.failed.values(), self.throttled)


class QueueMetrics:
    def __init__(self, waiting: Mapping[str, Callable[[], int]]) -> None:
        self._waiting = waiting
        self._table = Table("queues", 1, tuple((WAITING, (queue,)) for queue in waiting))

    def __call__(self) -> tuple[Table, tuple[float, ...]]:
        return self._table, tuple(count() for count in self._waiting.values())


class ServerMetrics:
    """Counts what happens, and renders it."""

    def __init__(
        self,
        stored: Callable[[], tuple[int, int, int, int]],
        forks: Callable[[], int],
        tables: Sequence[Callable[[], tuple[Table, tuple[float, ...]]]] = (),
    ) -> None:
        """Take what returns bytes of blocks and log, damages and series; forks; and more tables."""
        self.writes = self.refused = self.write_bytes = self.samples = self.syncs = 0
        self._stored, self._forks, self._tables = stored, forks, tables
        self._asked, self._failed, self._seconds = (defaultdict[str, float](float) for _ in range(3))
        self._process = process_metrics.ProcessMetrics()
        self._table = Table("server", 1, tuple(_series()))
        self._renderer = Renderer()

    @contextmanager
    def question(self, kind: str) -> Iterator[None]:
        """Count a question, from its beginning to its end."""
        begun = time.perf_counter()
        self._asked[kind] += 1
        try:
            yield
        except BaseException:
            self._failed[kind] += 1
            raise
        finally:
            self._seconds[kind] += time.perf_counter() - begun

    def render(self, form: Format) -> bytes:
        """Return the exposition; it asks the store, and so may wait for it."""
        return self._renderer.render(self.values(), form).encode()

    def values(self) -> list[TableValues]:
        """Return all tables as of now; the store is asked."""
        blocks, log, damages, series = self._stored()
        numbers: list[float] = [1]
        for counted in (self._asked, self._failed, self._seconds):
            numbers += [round(counted[kind], 6) for kind in KINDS]
        numbers += [self._forks(), self.writes, self.refused, self.write_bytes, self.samples, self.syncs]
        numbers += [blocks, log, damages, series, *self._process.values()]
        others = [TableValues(*table(), True) for table in self._tables]
        return [TableValues(self._table, tuple(numbers), True), *others]


def _series() -> Iterator[Series]:
    for metric in (*METRICS, *process_metrics.METRICS):
        words = {"kind": KINDS, "part": PARTS, "version": (vigie.__version__,)}
        if metric.labels:
            yield from ((metric, (word,)) for word in words[metric.labels[0]])
        else:
            yield metric, ()


class LinkMetrics:
    def __init__(self) -> None:
        self.frames = self.samples = self.events = self.bindings = self.refused = 0
