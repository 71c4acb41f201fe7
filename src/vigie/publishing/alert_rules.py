"""What a Prometheus should wake somebody for, and what it should keep ready: rules as data, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.findings import (
    clock_skew,
    disk_full,
    ecc_uncorrected,
    gpu_lost,
    gpu_throttled,
    ib_link_down,
    ib_link_flap,
    idle_holder,
    memory_errors,
    memory_leak,
    node_lost,
    nvlink_down,
    oom_kill,
    pcie_slow,
    rank_hung,
    row_remap,
    row_remap_failed,
)
from vigie.findings.core.finding import CRITICAL, WARNING, Finding
from vigie.sources.core.xids import ROWS as XIDS

MOST = 20  # nobody reads more


class AlertRule(NamedTuple):
    """One alert; its texts name labels as Prometheus's templates do."""

    name: str
    severity: str
    promql: str
    lasts: str  # how long it must hold
    summary: str
    do: str


class RecordingRule(NamedTuple):
    """A series that is computed ahead."""

    name: str
    promql: str


NODE, GPU = "{{ $labels.instance }}", "GPU {{ $labels.gpu }} of {{ $labels.instance }}"
PORT = "{{ $labels.device }} port {{ $labels.port }} of {{ $labels.instance }}"
JOB = "job {{ $labels.holder }} of {{ $labels.user }}"
# How the places in a finding's sentences are called in a template.
PLACES = {
    "node": NODE,
    "gpu": "{{ $labels.gpu }}",
    "places": "{{ $labels.instance }}:{{ $labels.gpu }}",
    "device": "{{ $labels.device }}",
    "mountpoint": "{{ $labels.mountpoint }}",
    "job_id": "{{ $labels.holder }}",
    "user": "{{ $labels.user }}",
}


def _of(finding: Finding, lasts: str, summary: str) -> AlertRule:
    """Return the alert of a finding: the same question, severity and advice as on the page."""
    name = "".join(word.capitalize() for word in finding.name.split("-"))
    return AlertRule(name, finding.severity, finding.when, lasts, summary, finding.do.format_map(PLACES))


def _new(series: str, window: str) -> str:
    """Return what rose within the window, or began: a count that nobody had before starts at 1, not at 0."""
    there = f'up{{job="node"}} offset {window} == 1'  # else all that ever was is new to a new Prometheus
    began = f"({series} unless {series} offset {window}) and on (instance) ({there})"
    return f"(increase({series}[{window}]) > 0) or ({began})"


GRAVE_XIDS = "|".join(str(row.number) for row in XIDS if row.severity == CRITICAL)

ALERTS = (
    _of(node_lost.FINDING, "2m", f"{NODE} is not heard any more"),
    _of(gpu_lost.FINDING, "1m", f"{GPU} does not answer any more"),
    AlertRule(
        "Xid",
        CRITICAL,
        _new(f'vigie_xid_errors_total{{xid=~"{GRAVE_XIDS}"}}', "15m"),
        "0s",
        f"XID {{{{ $labels.xid }}}} on the GPU at {{{{ $labels.pci_bus_id }}}} of {NODE}",
        f"Drain {NODE}. What this XID means and asks for: vigie events --kind xid --node {NODE}",
    ),
    _of(ecc_uncorrected.FINDING, "0s", f"memory errors that could not be corrected on {GPU}"),
    _of(row_remap.FINDING, "5m", f"a bad row of memory of {GPU} waits for a reset"),
    _of(row_remap_failed.FINDING, "0s", f"a bad row of memory of {GPU} could not be remapped"),
    _of(gpu_throttled.FINDING, "5m", f"the clock of {GPU} is held down: {{{{ $labels.reason }}}}"),
    _of(pcie_slow.FINDING, "10m", f"{GPU} runs with {{{{ $value }}}} lanes of PCIe, fewer than it has"),
    _of(nvlink_down.FINDING, "1m", f"NVLink {{{{ $labels.link }}}} of {GPU} is down"),
    _of(ib_link_down.FINDING, "1m", f"{PORT} carries no data any more"),
    _of(ib_link_flap.FINDING, "0s", f"{PORT} goes down again and again"),
    _of(rank_hung.FINDING, "5m", f"a rank of {JOB} hangs on {GPU}, and the others wait for it"),
    _of(idle_holder.FINDING, "5m", f"{JOB} holds {GPU} and has not used it for an hour"),
    _of(memory_errors.FINDING, "0s", f"memory errors of {NODE} that could not be corrected"),
    _of(memory_leak.FINDING, "5m", f"the memory of {NODE} will be gone within the hour"),
    _of(oom_kill.FINDING, "0s", f"the kernel of {NODE} killed a process for want of memory"),
    _of(disk_full.FINDING, "10m", f"{{{{ $labels.mountpoint }}}} of {NODE} is full"),
    _of(clock_skew.FINDING, "10m", f"the clock of {NODE} is off by {{{{ $value }}}} s"),
    AlertRule(
        "ExporterDown",
        WARNING,
        'up{job!="node"} == 0',
        "10m",
        f"{{{{ $labels.job }}}} of {NODE} does not answer",
        "Its last error is in Prometheus's list of targets, and in /api/v1/targets of the server.",
    ),
    AlertRule(
        "StoreDamaged",
        CRITICAL,
        "vigie_server_store_damages > 0",
        "0s",
        "the server found damaged data in its store",
        "Look at the disk (smartctl, dmesg), then: vigie store check. Answers leave out what is damaged.",
    ),
)

_SENT, _RECEIVED = "transmitted", "received"
_IB = "rate(node_infiniband_port_data_{}_bytes_total[5m])"
# What a node's GPUs and ports do on average, at least and at most, under the names of the series beneath.
ACROSS = {
    "vigie_gpu_busy_ratio": "vigie_gpu_busy_ratio",
    "vigie_gpu_memory_busy_ratio": "vigie_gpu_memory_busy_ratio",
    "vigie_gpu_memory_used_ratio": "vigie_gpu_memory_used_bytes / vigie_gpu_memory_total_bytes",
    "vigie_gpu_temperature_celsius": "vigie_gpu_temperature_celsius",
    "vigie_gpu_memory_temperature_celsius": "vigie_gpu_memory_temperature_celsius",
    "vigie_gpu_power_watts": "vigie_gpu_power_watts",
    "vigie_gpu_clock_hertz": "vigie_gpu_clock_hertz",
    "vigie_gpu_memory_clock_hertz": "vigie_gpu_memory_clock_hertz",
    "node_infiniband_transmit_bytes_per_second": _IB.format(_SENT),
    "node_infiniband_receive_bytes_per_second": _IB.format(_RECEIVED),
}


def _recordings() -> Iterator[RecordingRule]:
    for name, promql in ACROSS.items():
        for how in ("avg", "min", "max"):
            yield RecordingRule(f"instance:{name}:{how}", f"{how} by (instance) ({promql})")


RECORDINGS = tuple(_recordings())
