from __future__ import annotations

import asyncio
from collections.abc import Iterator

from tests.agent.sources import reading
from vigie.agent.dialects.dcgm_exporter import DcgmExporterTable
from vigie.model import Event, Sample, format_series, gauge
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

REASONS = gauge("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "", "gpu", "pci_bus_id")
BUS = "00000000:41:00.0"
POWER_CAP, IDLE = 4, 1


class Gpu:
    """A GPU whose clocks are held back as told."""

    def __init__(self) -> None:
        self.mask = 0
        self.clock = SimulatedClock()
        self._reader = reading(Source("nvidia", (), self._read), self.clock)
        self.counts = DcgmExporterTable([self._reader], self.clock)

    def _read(self, _: Host) -> Iterator[Sample]:
        yield REASONS, ("0", BUS), self.mask

    def series(self, after: float = 10) -> dict[str, float]:
        asyncio.run(self.clock.sleep(after))
        self._reader.read()
        return self.told()

    def told(self) -> dict[str, float]:
        table, numbers = self.counts.table()
        return {format_series(*series): n for series, n in zip(table.series, numbers, strict=True)}


LABELS = f'gpu="0",pci_bus_id="{BUS}",window_size_in_ms="300000"'


def test_readings_with_a_reason_are_counted_in_the_window() -> None:
    gpu = Gpu()
    gpu.mask = POWER_CAP | IDLE
    gpu.series()
    gpu.mask = POWER_CAP
    found = gpu.series()
    assert found[f'DCGM_EXP_CLOCK_EVENTS_COUNT{{{LABELS},clock_event="power_cap"}}'] == 2
    assert found[f'DCGM_EXP_CLOCK_EVENTS_COUNT{{{LABELS},clock_event="gpu_idle"}}'] == 1
    assert found[f'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{{gpu="0",pci_bus_id="{BUS}"}}'] == POWER_CAP
    assert gpu.told() == found  # a scrape is no reading
    gpu.mask = 0
    assert f"DCGM_EXP_CLOCK_EVENTS_COUNT{{{LABELS}}}" in gpu.series(after=400)


def test_xids_are_counted_by_number_and_a_quiet_gpu_has_a_zero() -> None:
    gpu = Gpu()
    assert gpu.series()[f"DCGM_EXP_XID_ERRORS_COUNT{{{LABELS}}}"] == 0
    now = round(gpu.clock.wall() * 1000)
    for begin, xid in ((now, "79"), (now, "79"), (now + 1, "79"), (now, "31")):
        gpu.counts.record_event(Event("xid", begin, "", {"pci_bus_id": BUS, "xid": xid}))
    gpu.counts.record_event(Event("xid", now, "", {"pci_bus_id": "elsewhere", "xid": "79"}))
    found = gpu.series()
    assert found[f'DCGM_EXP_XID_ERRORS_COUNT{{{LABELS},xid="79"}}'] == 2
    assert found[f'DCGM_EXP_XID_ERRORS_COUNT{{{LABELS},xid="31"}}'] == 1
    assert gpu.series(after=400)[f"DCGM_EXP_XID_ERRORS_COUNT{{{LABELS}}}"] == 0
