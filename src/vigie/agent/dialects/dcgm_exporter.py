"""What dcgm-exporter itself counts, on request: XIDs and clock events in a window, and an old name."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

from vigie.agent.source_reader import SourceReader
from vigie.common.clock import Clock
from vigie.model import Event, Metric, Table, gauge
from vigie.model.table import Series

REASONS = "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"
OLD_NAME = "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS"
WINDOW_MS = 300_000
# The bits of the mask, in order.
EVENTS = (
    *("gpu_idle", "clocks_setting", "power_cap", "hw_slowdown", "sync_boost"),
    *("sw_thermal", "hw_thermal", "hw_power_brake", "display_clocks"),
)
MAX_XIDS = 1024

Gpu = tuple[Metric, tuple[str, ...]]  # the series of its mask


class DcgmExporterTable:
    """Counts over the last five minutes; a reading of the mask is a sample, as there."""

    def __init__(self, readers: Sequence[SourceReader], clock: Clock) -> None:
        self._readers, self._clock = readers, clock
        self._read_at = float("-inf")
        self._samples: dict[Gpu, deque[tuple[float, int]]] = {}
        self._xids: deque[Event] = deque(maxlen=MAX_XIDS)
        self._table = Table("dcgm_exporter", 0, ())

    def record_event(self, event: Event) -> None:
        """Take an XID; one that comes again, with more known of it, is the same."""
        if event.kind == "xid" and all(
            (known.begin_ms, known.where.get("xid")) != (event.begin_ms, event.where.get("xid"))
            or known.where.get("pci_bus_id") != event.where.get("pci_bus_id")
            for known in self._xids
        ):
            self._xids.append(event)

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return the counts, and the mask under its old name."""
        masks = dict(self._masks())
        self._sample(masks)
        found: dict[Series, float] = {}
        for gpu, mask in masks.items():
            metric, labels = gpu
            found[metric._replace(name=OLD_NAME), labels] = mask
        for gpu in masks:
            found.update(self._clock_events(gpu))
        for gpu in masks:
            found.update(self._xid_counts(gpu))
        series = tuple(sorted(found, key=lambda each: each[0].name))
        if series != self._table.series:
            self._table = Table("dcgm_exporter", self._table.version + 1, series)
        return self._table, tuple(found[each] for each in series)

    def _masks(self) -> Iterator[tuple[Gpu, float]]:
        for reader in self._readers:
            table, numbers, _ = reader.values
            for series, number in zip(table.series, numbers, strict=True):
                if series[0].name == REASONS:
                    yield series, number

    def _sample(self, masks: dict[Gpu, float]) -> None:
        now = self._clock.wall()
        read_at = max((r.read_at for r in self._readers if r.source.name == "nvidia"), default=self._read_at)
        self._samples = {gpu: self._samples.get(gpu, deque()) for gpu in masks}
        for gpu, mask in masks.items():
            samples = self._samples[gpu]
            if read_at > self._read_at:
                samples.append((now, int(mask)))
            while samples and samples[0][0] < now - WINDOW_MS / 1000:
                samples.popleft()
        self._read_at = read_at

    def _clock_events(self, gpu: Gpu) -> Iterator[tuple[Series, float]]:
        counts = Counter(
            event for _, mask in self._samples[gpu] for bit, event in enumerate(EVENTS) if mask >> bit & 1
        )
        yield from _counted(gpu, "DCGM_EXP_CLOCK_EVENTS_COUNT", counts)

    def _xid_counts(self, gpu: Gpu) -> Iterator[tuple[Series, float]]:
        earliest = self._clock.wall() * 1000 - WINDOW_MS
        bus = dict(zip(gpu[0].labels, gpu[1], strict=True)).get("pci_bus_id", "")
        counts = Counter(
            xid.where.get("xid", "")
            for xid in self._xids
            if xid.begin_ms >= earliest and xid.where.get("pci_bus_id") == bus
        )
        yield from _counted(gpu, "DCGM_EXP_XID_ERRORS_COUNT", counts)


HELP = {
    "DCGM_EXP_CLOCK_EVENTS_COUNT": "Readings in the last 5 minutes with a reason for lower clocks.",
    "DCGM_EXP_XID_ERRORS_COUNT": "XIDs in the last 5 minutes.",
}
LABEL = {"DCGM_EXP_CLOCK_EVENTS_COUNT": "clock_event", "DCGM_EXP_XID_ERRORS_COUNT": "xid"}


def _counted(gpu: Gpu, name: str, counts: Counter[str]) -> Iterator[tuple[Series, float]]:
    """Yield a series for each word that was counted, or a single 0 without the word."""
    metric, labels = gpu
    row = gauge(name, HELP[name], *metric.labels, "window_size_in_ms", LABEL[name])
    for word, count in sorted(counts.items()) or [("", 0)]:
        yield (row, (*labels, str(WINDOW_MS), word)), float(count)
