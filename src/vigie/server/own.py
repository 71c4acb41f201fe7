"""What the server says of itself on /metrics."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import vigie
from vigie.agent import process
from vigie.agent.exposition import Format, Renderer
from vigie.agent.reading import Values
from vigie.model import Metric, Table, counter, gauge, info
from vigie.model.table import Series

KINDS = ("query", "query_range", "series", "labels", "label_values", "federate", "metadata", "tsdb")
PARTS = ("blocks", "log")

METRICS: tuple[Metric, ...] = (
    info("vigie_server_build_info", "The version of the server.", "version"),
    QUESTIONS := counter("vigie_server_questions_total", "Questions asked.", "kind"),
    FAILED := counter("vigie_server_questions_failed_total", "Questions that got an error.", "kind"),
    SECONDS := counter("vigie_server_question_seconds_total", "Time that questions took.", "kind"),
    counter("vigie_server_question_forks_total", "Questions that got a process of their own."),
    counter("vigie_server_writes_total", "Remote write requests taken."),
    counter("vigie_server_writes_refused_total", "Remote write requests of which something was refused."),
    counter("vigie_server_write_bytes_total", "Bytes of remote write requests, as they came."),
    counter("vigie_server_samples_total", "Samples taken by remote write."),
    counter("vigie_server_syncs_total", "Times the store was synced for remote write."),
    STORE := gauge("vigie_server_store_bytes", "Bytes of the store on disk.", "part"),
    gauge("vigie_server_store_damages", "Damages found in the store since it was opened."),
    gauge("vigie_server_series", "Series that the newest rows of the store have."),
)


class Own:
    """Counts what happens, and renders it."""

    def __init__(self, stored: Callable[[], tuple[int, int, int, int]], forks: Callable[[], int]) -> None:
        """Take what tells bytes of blocks, bytes of log, damages and series, and what tells forks."""
        self.writes = self.refused = self.write_bytes = self.samples = self.syncs = 0
        self.tables: list[Callable[[], tuple[Table, tuple[float, ...]]]] = []  # what others say beside it
        self._stored, self._forks = stored, forks
        self._asked, self._failed, self._seconds = (defaultdict[str, float](float) for _ in range(3))
        self._process = process.Process()
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

    def values(self) -> list[Values]:
        """Return all tables as of now; the store is asked."""
        blocks, log, damages, series = self._stored()
        numbers: list[float] = [1]
        for counted in (self._asked, self._failed, self._seconds):
            numbers += [round(counted[kind], 6) for kind in KINDS]
        numbers += [self._forks(), self.writes, self.refused, self.write_bytes, self.samples, self.syncs]
        numbers += [blocks, log, damages, series, *self._process.values()]
        others = [Values(*table(), True) for table in self.tables]
        return [Values(self._table, tuple(numbers), True), *others]


def _series() -> Iterator[Series]:
    for metric in (*METRICS, *process.METRICS):
        words = {"kind": KINDS, "part": PARTS, "version": (vigie.__version__,)}
        if metric.labels:
            yield from ((metric, (word,)) for word in words[metric.labels[0]])
        else:
            yield metric, ()
