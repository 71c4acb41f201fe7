"""Moneo's names: dcgm_*, rdc_*, ib_port_* and node_*, with job_id, so that its dashboards' queries work."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from vigie.agent.dialects.alias import NODE, Alias, Jobs, find_jobs
from vigie.agent.source_reader import SourceReader
from vigie.common.clock import Clock
from vigie.model import Event, Table, gauge
from vigie.model.table import Series

NVIDIA = {"gpu_id": "{gpu}", "gpu_uuid": "{UUID}"}
AMD = {"gpu_id": "{gpu}", "gpu_uuid": "{uuid}"}
GPU = "gpu:{gpu}"
PORT = {"ib_port": "{device}:{port}"}
CORE = {"cpu_id": "{cpu}", "numa_domain": "{node}"}
NUMA = ("vigie_cpu_numa_info", "cpu")
BUSY = "^(user|nice|system|irq|softirq|steal)$"
ETHERNET = "^(eth|en)"
LINK_UP = 5


def _dcgm(name: str, ours: str, help: str, factor: float = 1) -> Alias:
    return Alias(f"dcgm_{name}", help, f"DCGM_FI_{ours}", NVIDIA, GPU, factor)


def _rdc(name: str, ours: str, help: str, factor: float = 1, **only: str) -> Alias:
    return Alias(f"rdc_{name}", help, ours, AMD, GPU, factor, only={"vendor": "(?i)amd", **only})


def _port(name: str, ours: str, help: str, *, rate: bool = False) -> Alias:
    return Alias(f"ib_port_{name}", help, f"node_infiniband_{ours}_total", PORT, rate=rate)


ALIASES = (
    _dcgm("sm_clock", "DEV_SM_CLOCK", "Clock of the multiprocessors in MHz."),
    _dcgm("memory_clock", "DEV_MEM_CLOCK", "Clock of the memory in MHz."),
    _dcgm("gpu_temp", "DEV_GPU_TEMP", "Temperature of the GPU in °C."),
    _dcgm("memory_temp", "DEV_MEMORY_TEMP", "Temperature of the memory in °C."),
    _dcgm("power_usage", "DEV_POWER_USAGE", "Power in watts."),
    _dcgm("total_energy_consumption", "DEV_TOTAL_ENERGY_CONSUMPTION", "Energy in mJ since driver load."),
    _dcgm("gpu_utilization", "DEV_GPU_UTIL", "Percent of time in which a kernel ran."),
    _dcgm("mem_copy_utilization", "DEV_MEM_COPY_UTIL", "Percent of time in which memory was in use."),
    _dcgm("ecc_sbe_volatile_total", "DEV_ECC_SBE_VOL_TOTAL", "Corrected errors since driver load."),
    _dcgm("ecc_dbe_volatile_total", "DEV_ECC_DBE_VOL_TOTAL", "Uncorrected errors since driver load."),
    _dcgm("ecc_sbe_aggregate_total", "DEV_ECC_SBE_AGG_TOTAL", "Corrected errors, lifetime."),
    _dcgm("ecc_dbe_aggregate_total", "DEV_ECC_DBE_AGG_TOTAL", "Uncorrected errors, lifetime."),
    _dcgm("sm_active", "PROF_SM_ACTIVE", "Share of multiprocessors with work."),
    _dcgm("sm_occupancy", "PROF_SM_OCCUPANCY", "Share of warps that are resident."),
    _dcgm("dram_active", "PROF_DRAM_ACTIVE", "Share of time in which memory moved data."),
    _dcgm("nvlink_tx_bytes", "PROF_NVLINK_TX_BYTES", "Bytes a second sent by NVLink."),
    _dcgm("nvlink_rx_bytes", "PROF_NVLINK_RX_BYTES", "Bytes a second received by NVLink."),
    _dcgm("pcie_tx_bytes", "PROF_PCIE_TX_BYTES", "Bytes a second sent by PCIe."),
    _dcgm("pcie_rx_bytes", "PROF_PCIE_RX_BYTES", "Bytes a second received by PCIe."),
    _dcgm(
        "current_clock_throttle_reasons", "DEV_CLOCKS_EVENT_REASONS", "Why clocks are not higher, as bits."
    ),
    # The dashboards take microseconds; the driver counts nanoseconds.
    _dcgm("power_violation", "DEV_POWER_VIOLATION", "Microseconds throttled for power.", 1e-3),
    _dcgm("thermal_violation", "DEV_THERMAL_VIOLATION", "Microseconds throttled for heat.", 1e-3),
    _dcgm("tensor_active", "PROF_PIPE_TENSOR_ACTIVE", "Share of time in which tensor pipes worked."),
    _dcgm("fp64_active", "PROF_PIPE_FP64_ACTIVE", "Share of time in which FP64 pipes worked."),
    _dcgm("fp32_active", "PROF_PIPE_FP32_ACTIVE", "Share of time in which FP32 pipes worked."),
    _dcgm("fp16_active", "PROF_PIPE_FP16_ACTIVE", "Share of time in which FP16 pipes worked."),
    # In the units that the dashboards show: Moneo passes on milli- and microunits, and they do not scale.
    _rdc("gpu_clock", "vigie_gpu_clock_hertz", "Clock of the GPU in MHz.", 1e-6),
    _rdc("mem_clock", "vigie_gpu_memory_clock_hertz", "Clock of the memory in Hz."),
    _rdc("gpu_temp", "vigie_gpu_temperature_celsius", "Temperature of the GPU in °C."),
    _rdc("memory_temp", "vigie_gpu_memory_temperature_celsius", "Temperature of the memory in °C."),
    _rdc("power_usage", "vigie_gpu_power_watts", "Power in watts."),
    _rdc("gpu_util", "vigie_gpu_busy_ratio", "Percent of time in which the GPU was busy.", 100),
    _rdc("gpu_memory_usage", "vigie_gpu_memory_used_bytes", "Bytes of memory in use."),
    _rdc("gpu_memory_total", "vigie_gpu_memory_total_bytes", "Bytes of memory."),
    _rdc("ecc_correct", "vigie_amdgpu_ras_errors_total", "Corrected errors.", kind="^corrected"),
    _rdc("ecc_uncorrect", "vigie_amdgpu_ras_errors_total", "Uncorrected errors.", kind="^uncorrected"),
    _port("xmit_data", "port_data_transmitted_bytes", "Bytes a second sent.", rate=True),
    _port("rcv_data", "port_data_received_bytes", "Bytes a second received.", rate=True),
    _port("xmit_discards", "port_discards_transmitted", "Packets out that were dropped."),
    _port("rcv_errors", "port_errors_received", "Packets received with errors."),
    _port("xmit_constraint_errors", "port_constraint_errors_transmitted", "Packets not let out."),
    _port("rcv_constraint_errors", "port_constraint_errors_received", "Packets not let in."),
    Alias(
        "ib_port_physical_state",
        "1 if the link is up, 0 if not.",
        "node_infiniband_physical_state_id",
        PORT,
        equals=LINK_UP,
    ),
    Alias(
        "node_cpu_util",
        "Percent of time in which the core worked.",
        "node_cpu_seconds_total",
        CORE,
        factor=100,
        rate=True,
        only={"mode": BUSY},
        joined=NUMA,
    ),
    Alias(
        "node_cpu_frequency",
        "Clock of the core in MHz.",
        "node_cpu_scaling_frequency_hertz",
        CORE,
        factor=1e-6,
        joined=NUMA,
    ),
    Alias(
        "node_mem_available",
        "Memory that programs can still get, in KiB.",
        "node_memory_MemAvailable_bytes",
        factor=1 / 1024,
    ),
    Alias(
        "node_mem_util",
        "Percent of memory in use.",
        "node_memory_MemAvailable_bytes",
        factor=-100,
        offset=100,
        divided_by="node_memory_MemTotal_bytes",
    ),
    Alias(
        "node_net_rx",
        "Bytes a second received by Ethernet.",
        "node_network_receive_bytes_total",
        rate=True,
        only={"device": ETHERNET},
    ),
    Alias(
        "node_net_tx",
        "Bytes a second sent by Ethernet.",
        "node_network_transmit_bytes_total",
        rate=True,
        only={"device": ETHERNET},
    ),
)


class EventAlias(NamedTuple):
    """A foreign name for an event, reported for a while with its time."""

    name: str
    help: str
    kind: str
    labels: Mapping[str, str]
    device: str
    value: str = ""  # the word of the event that is the value; 1 without


EVENT_ALIASES = {
    alias.kind: alias
    for alias in (
        EventAlias(
            "node_xid_error",
            "Number of an XID that the driver reported.",
            "xid",
            {"pci_id": "pci_bus_id", "gpu_id": "gpu"},
            "gpu:",
            "xid",
        ),
        EventAlias(
            "node_link_flap", "1 for a link that went down.", "ib_link_flap", {"ib_port": "device"}, NODE
        ),
    )
}
EVENT_SECONDS = 120  # that an event is told: two scrapes of the slowest scraper
MAX_EVENTS = 256


class MoneoEvents:
    """Makes series of what happened lately, as Moneo does of the lines of the system's log."""

    def __init__(self, readers: Sequence[SourceReader], jobs: Jobs, clock: Clock) -> None:
        self._readers, self._jobs, self._clock = readers, jobs, clock
        self._recent: deque[Event] = deque(maxlen=MAX_EVENTS)
        self._table = Table("moneo_events", 0, ())

    def record_event(self, event: Event) -> None:
        """Take an event; one that comes again is known."""
        if event.kind in EVENT_ALIASES and event not in self._recent:
            self._recent.append(event)

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return the events of the last two minutes."""
        earliest = (self._clock.wall() - EVENT_SECONDS) * 1000
        while self._recent and self._recent[0].begin_ms < earliest:
            self._recent.popleft()
        jobs, gpus = self._jobs(), dict(self._gpus()) if self._recent else {}
        found: dict[Series, float] = {}
        for event in self._recent:
            gpu = event.where.get("gpu") or gpus.get(event.where.get("pci_bus_id", ""), "")
            found.update(_event_series(event._replace(where={**event.where, "gpu": gpu}), jobs))
        series = tuple(sorted(found, key=lambda each: each[0].name))
        if series != self._table.series:
            self._table = Table("moneo_events", self._table.version + 1, series)
        return self._table, tuple(found[each] for each in series)

    def _gpus(self) -> Iterator[tuple[str, str]]:
        """Yield the index of each GPU by its PCI address: the kernel's log has only the latter."""
        for reader in self._readers:
            for metric, values in reader.values.table.series:
                if metric.name == "vigie_gpu_info":
                    labels = dict(zip(metric.labels, values, strict=True))
                    yield labels["pci_bus_id"], labels["gpu"]


def _event_series(event: Event, jobs: Mapping[str, Sequence[str]]) -> dict[Series, float]:
    alias = EVENT_ALIASES[event.kind]
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.begin_ms / 1000))
    values = [event.where.get(word, "") for word in alias.labels.values()]
    if "ib_port" in alias.labels:
        values = [f"{event.where.get('device', '')}:{event.where.get('port', '1')}"]
    text = event.where.get(alias.value, "") if alias.value else "1"
    if not text.isdecimal():
        return {}
    metric = gauge(alias.name, alias.help, "job_id", *alias.labels, "time_stamp")
    device = f"gpu:{event.where.get('gpu', '')}" if alias.device != NODE else NODE
    return {(metric, (job, *values, when)): float(text) for job in find_jobs(jobs, device)}
