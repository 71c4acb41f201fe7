"""Moneo's names: derived from ours, by GPU and job, so that what its dashboards ask for is there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.agent.sources import reading
from vigie.agent.dialects.alias import MAX_JOBS, AliasTable
from vigie.agent.dialects.moneo import ALIASES, EVENT_ALIASES, EVENT_SECONDS, MoneoEvents
from vigie.model import Event, Metric, Sample, counter, format_series, gauge, info, is_absent
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.host import Host
from vigie.sources.core.registry import load_builtin
from vigie.sources.core.source import Source

DCGM = ("gpu", "UUID", "GPU_I_ID")
UTIL = gauge("DCGM_FI_DEV_GPU_UTIL", "", *DCGM)
SENT = counter("node_infiniband_port_data_transmitted_bytes_total", "", "device", "port")
STATE = gauge("node_infiniband_physical_state_id", "", "device", "port")
CPU = counter("node_cpu_seconds_total", "", "cpu", "mode")
NUMA = info("vigie_cpu_numa_info", "", "cpu", "node")
TOTAL, AVAILABLE = gauge("node_memory_MemTotal_bytes", ""), gauge("node_memory_MemAvailable_bytes", "")
CARD = info("vigie_gpu_info", "", "gpu", "pci_bus_id")
NET = counter("node_network_receive_bytes_total", "", "device")

# What its dashboards ask for, by folder; rdc_pcie_tx and rdc_pcie_rx are empty there too.
DASHBOARDS = {
    "dcgm": "gpu_utilization mem_copy_utilization sm_clock memory_clock gpu_temp memory_temp power_usage "
    "current_clock_throttle_reasons total_energy_consumption ecc_sbe_volatile_total ecc_dbe_volatile_total "
    "ecc_sbe_aggregate_total ecc_dbe_aggregate_total thermal_violation power_violation sm_active "
    "sm_occupancy tensor_active fp64_active fp32_active fp16_active dram_active nvlink_tx_bytes "
    "nvlink_rx_bytes pcie_tx_bytes pcie_rx_bytes",
    "rdc": "gpu_util gpu_memory_usage gpu_memory_total gpu_clock mem_clock gpu_temp memory_temp power_usage",
    "ib_port": "xmit_data rcv_data physical_state xmit_discards xmit_constraint_errors rcv_errors "
    "rcv_constraint_errors",
    "node": "xid_error link_flap cpu_util cpu_frequency mem_util mem_available net_tx net_rx",
}


class Machine:
    """A source that gives what it is told to, and the dialect over it."""

    def __init__(self, *samples: Sample) -> None:
        self.samples = list(samples)
        self.jobs: dict[str, list[str]] = {}
        self.clock = SimulatedClock()
        self._reader = reading(Source("machine", (), self._read), self.clock)
        self._alias = AliasTable("moneo", ALIASES, [self._reader], lambda: self.jobs)

    def _read(self, _: Host) -> Iterator[Sample]:
        yield from self.samples

    def series(self, after: float = 10) -> dict[str, float]:
        asyncio.run(self.clock.sleep(after))
        self._reader.read()
        table, numbers = self._alias.table()
        pairs = zip(table.series, numbers, strict=True)
        return {format_series(*series): number for series, number in pairs if not is_absent(number)}


def test_every_name_that_its_dashboards_ask_for_is_given() -> None:
    asked = {f"{prefix}_{name}" for prefix, names in DASHBOARDS.items() for name in names.split()}
    given = {alias.name for alias in ALIASES} | {alias.name for alias in EVENT_ALIASES.values()}
    assert asked <= given


def test_every_row_stands_on_a_metric_and_labels_that_a_source_declares() -> None:
    declared: dict[str, Metric] = {m.name: m for source in load_builtin() for m in source.metrics}
    for alias in ALIASES:
        labels = set(declared[alias.ours].labels)
        if alias.joined[0]:
            labels |= set(declared[alias.joined[0]].labels)
        words = {word for text in (*alias.labels.values(), alias.device) for word in _words(text)}
        assert words | alias.only.keys() <= labels, alias.name


def _words(text: str) -> list[str]:
    return [part.partition("}")[0] for part in text.split("{")[1:]]


def test_a_gpu_has_the_job_that_holds_it() -> None:
    machine = Machine((UTIL, ("0", "GPU-a", ""), 97), (UTIL, ("1", "GPU-b", ""), 0))
    free = 'dcgm_gpu_utilization{job_id="None",gpu_id="%s",gpu_uuid="%s"}'
    assert machine.series() == {free % ("0", "GPU-a"): 97, free % ("1", "GPU-b"): 0}
    machine.jobs = {"gpu:0": ["4711", "4712"]}
    held = 'dcgm_gpu_utilization{job_id="%s",gpu_id="0",gpu_uuid="GPU-a"}'
    assert machine.series() == {held % "4711": 97, held % "4712": 97, free % ("1", "GPU-b"): 0}
    machine.jobs = {"node": ["9"]}
    assert 'dcgm_gpu_utilization{job_id="9",gpu_id="1",gpu_uuid="GPU-b"}' in machine.series()


def test_an_instance_of_mig_is_told_apart() -> None:
    machine = Machine((UTIL, ("0", "GPU-a", "1"), 5), (UTIL, ("0", "GPU-a", "2"), 6))
    assert [value for series, value in machine.series().items() if 'gpu_id="0.2"' in series] == [6]


def test_copies_for_jobs_are_bounded() -> None:
    machine = Machine((UTIL, ("0", "GPU-a", ""), 97))
    machine.jobs = {"gpu:0": [str(job) for job in range(1000)]}
    assert len(machine.series()) == MAX_JOBS


def test_rates_are_per_second_of_the_time_between_two_reads() -> None:
    machine = Machine((SENT, ("mlx5_0", "1"), 1000))
    series = 'ib_port_xmit_data{job_id="None",ib_port="mlx5_0:1"}'
    assert series not in machine.series()  # one read has no rate
    machine.samples = [(SENT, ("mlx5_0", "1"), 6000)]
    assert machine.series(after=5)[series] == 1000
    assert machine.series(after=0.1)[series] == 1000  # too soon for another
    machine.samples = [(SENT, ("mlx5_0", "1"), 10)]
    assert series not in machine.series()  # a counter that was reset has no rate


def test_busy_modes_of_a_core_add_up_and_it_has_its_numa_domain() -> None:
    machine = Machine(
        (CPU, ("3", "user"), 10), (CPU, ("3", "system"), 5), (CPU, ("3", "idle"), 0), (NUMA, ("3", "1"), 1)
    )
    machine.series()
    machine.samples[:3] = [(CPU, ("3", "user"), 14), (CPU, ("3", "system"), 6), (CPU, ("3", "idle"), 5)]
    found = machine.series(after=10)
    assert found == {'node_cpu_util{job_id="None",cpu_id="3",numa_domain="1"}': pytest.approx(50)}


def test_memory_and_network_have_its_units() -> None:
    machine = Machine((TOTAL, (), 4096), (AVAILABLE, (), 1024), (NET, ("eth0",), 0), (NET, ("lo",), 0))
    machine.series()
    machine.samples[2:] = [(NET, ("eth0",), 500), (NET, ("lo",), 9000)]
    assert machine.series(after=10) == {
        'node_mem_available{job_id="None"}': 1,
        'node_mem_util{job_id="None"}': 75,
        'node_net_rx{job_id="None"}': 50,
    }


def test_a_link_is_up_or_not() -> None:
    machine = Machine((STATE, ("mlx5_0", "1"), 5), (STATE, ("mlx5_1", "1"), 3))
    state = 'ib_port_physical_state{job_id="None",ib_port="mlx5_%d:1"}'
    assert machine.series() == {state % 0: 1, state % 1: 0}


def test_events_are_told_for_a_while_with_their_job() -> None:
    clock = SimulatedClock()
    card = reading(Source("cards", (), lambda _: [(CARD, ("2", "00000000:41:00.0"), 1)]), clock)
    card.read()
    events = MoneoEvents([card], lambda: {"gpu:2": ["4711"]}, clock)
    where = {"pci_bus_id": "00000000:41:00.0", "xid": "119"}  # the kernel's log knows no index
    now = round(clock.wall() * 1000)
    for event in (
        Event("xid", now, "", where),
        Event("xid", now, "", where),
        Event("ib_link_flap", now, "", {"device": "mlx5_0", "port": "1"}),
        Event("xid", now, "", {"xid": "garbage"}),
        Event("oom_kill", now, "", {}),
    ):
        events.record_event(event)
    table, numbers = events.table()
    found = dict(
        zip(
            (format_series(*series).partition(",time_stamp")[0] for series in table.series),
            numbers,
            strict=True,
        )
    )
    assert found == {
        'node_xid_error{job_id="4711",pci_id="00000000:41:00.0",gpu_id="2"': 119,
        'node_link_flap{job_id="4711",ib_port="mlx5_0:1"': 1,
    }
    asyncio.run(clock.sleep(EVENT_SECONDS + 1))
    assert events.table()[1] == ()
