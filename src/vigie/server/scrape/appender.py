"""Puts what a scrape brought into the store, and ends what it did not bring any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from vigie.model import Frame, Table, gauge
from vigie.model.nan import ABSENT
from vigie.model.table import Series
from vigie.query.label_table import NAME
from vigie.query.storage import Labels
from vigie.server.ingest.remote_write import AHEAD_MS
from vigie.server.scrape.parser import TimedSample
from vigie.server.scrape.series_cache import Pairs, ScrapeLayout
from vigie.server.scrape.target import Target
from vigie.store.heads.ungrouped import Samples
from vigie.store.series.layout import label_key

MAX_KNOWN = 50_000  # series with times of their own
METRICS = (
    gauge("up", "1 if the target could be scraped, 0 if not."),
    gauge("scrape_duration_seconds", "How long the scrape took."),
    gauge("scrape_samples_scraped", "Samples that the target gave."),
    gauge("scrape_samples_post_metric_relabeling", "Samples that were left after relabelling."),
    gauge("scrape_series_added", "Series that the scrape before did not have."),
)
REPORT = Table("scrape report", 1, tuple((metric, ()) for metric in METRICS))
Report = tuple[float, ...]


class SeriesSink(Protocol):
    """Where else it goes."""

    def write_frame(self, target: Mapping[str, str], frame: Frame) -> None:
        """Take a frame of a target, by its labels."""

    def write_series(self, series: Iterable[Samples]) -> None:
        """Take series with times of their own."""


class TeeStore:
    """A store that passes on what it has taken."""

    def __init__(self, store: ScrapeStore, pass_on: SeriesSink) -> None:
        self._store, self._pass_on = store, pass_on

    def append(self, node_labels: Mapping[str, str], frame: Frame) -> None:
        self._store.append(node_labels, frame)
        self._pass_on.write_frame(node_labels, frame)

    def append_series(self, series: Iterable[Samples]) -> None:
        samples = list(series)
        self._store.append_series(samples)
        self._pass_on.write_series(samples)

    def sync(self) -> None:
        """Return when everything appended before survives."""
        self._store.sync()


class SampleSink(Protocol):
    """The store, as far as scraping needs it."""

    def append(self, node_labels: Mapping[str, str], frame: Frame) -> None: ...

    def append_series(self, series: Iterable[Samples]) -> None: ...


class ScrapeAppender:
    """Files the scrapes of one target."""

    def __init__(
        self,
        target: Target,
        sink: SampleSink,
        clock: Callable[[], int],
        empty: ScrapeLayout,
        *,
        honor_labels: bool,
        age_ms: int,
    ) -> None:
        self._labels, self._sink, self._clock = dict(target.labels), sink, clock
        self._honor_labels, self._age_ms = honor_labels, age_ms
        # The layout whose series live. We know of none yet, but the store may: an empty row ends those.
        self._last = empty
        self._last_ms = 0
        self._known: dict[str, Labels] = {}  # the store, too, knows labels best by the same object

    def succeed(self, time_ms: int, report: Report, layout: ScrapeLayout, row: Iterable[float]) -> None:
        tables = {replaced: (table, values) for replaced, table, values in layout.parts(list(row))}
        if self._last is not layout:
            for replaced, table, values in self._last.parts(self._last.absent()):
                tables.setdefault(replaced, (table, values))
        self._file(time_ms, report, tables)
        self._last = layout

    def fail(self, time_ms: int, report: Report) -> None:
        """File that a scrape failed: all that lived has ended."""
        parts = self._last.parts(self._last.absent())
        self._file(time_ms, report, {replaced: (table, values) for replaced, table, values in parts})

    def end(self) -> None:
        """File that nobody scrapes the target any more."""
        self.fail(max(self._clock(), self._last_ms + 1), (ABSENT,) * len(METRICS))

    def take(self, timed: Iterable[TimedSample]) -> int:
        """File samples with times of their own, and return how many are too old or of the future."""
        now = self._clock()
        timed = list(timed)
        timely = [one for one in timed if now - self._age_ms <= one.time_ms <= now + AHEAD_MS]
        if timely:
            self._sink.append_series(self._loose(timely))
        return len(timed) - len(timely)

    def _file(
        self, time_ms: int, report: Report, tables: Mapping[Pairs, tuple[Table, tuple[float, ...]]]
    ) -> None:
        self._last_ms = time_ms
        own = [(REPORT, report)]
        if () in tables:
            own.append(tables[()])
        self._sink.append(self._labels, Frame(time_ms, tuple(own)))
        for replaced, part in tables.items():
            if replaced:
                self._sink.append(self._labels | dict(replaced), Frame(time_ms, (part,)))

    def _loose(self, timed: Iterable[TimedSample]) -> Iterator[Samples]:
        for text, series, value, time_ms in timed:
            labels = self._known.get(text)
            if labels is None:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                labels = self._known[text] = self._all_labels(series)
            yield Samples(labels, [time_ms], [value])

    def _all_labels(self, series: Series) -> Labels:
        metric, values = series
        own = {**dict(zip(metric.labels, values, strict=True)), NAME: metric.name}
        beside = own if self._honor_labels else dict(label_key(own, self._labels))
        return {**self._labels, **beside}


class ScrapeStore(SampleSink, Protocol):
    """Where samples go."""

    def sync(self) -> None:
        """Return when everything appended before survives."""
