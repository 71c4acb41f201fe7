"""Alert and recording rules for Prometheus, derived from the findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.findings.core.finding import CRITICAL, RANK, WARNING, Finding
from vigie.findings.core.registry import all_findings
from vigie.sources.core.xids import ROWS as XIDS


class AlertRule(NamedTuple):
    """One alert; its texts name labels as Prometheus's templates do."""

    name: str
    severity: str
    promql: str
    hold: str  # how long it must hold
    summary: str
    action: str


class RecordingRule(NamedTuple):
    """A series that is computed ahead."""

    name: str
    promql: str


NODE, JOB = "{{ $labels.instance }}", "{{ $labels.holder }}"
# A finding's placeholders as Prometheus's templates; an alert has one series, so one GPU.
PLACEHOLDERS = {
    **{
        name: f"{{{{ $labels.{name} }}}}"
        for name in ("gpu", "device", "mountpoint", "reason", "link", "user")
    },
    "node": NODE,
    "nodes": NODE,
    "places": f"{NODE}:{{{{ $labels.gpu }}}}",
    "gpus": "1 GPU",
    "job": JOB,
    "job_id": JOB,
    "process": "a process",
    **dict.fromkeys(("hurt", "clock", "killed"), ""),
}
VALUES = {"ratio": "{{ $value | humanizePercentage }}", "seconds": "{{ $value | humanizeDuration }}"}


def _from_finding(finding: Finding) -> AlertRule:
    """Return the alert of a finding: the same query, severity and sentences as in the web UI."""
    name = "".join(word.capitalize() for word in finding.name.split("-"))
    words = {**PLACEHOLDERS, "value": VALUES.get(finding.unit, "{{ $value }}")}
    summary, action = finding.summary.format_map(words), finding.action.format_map(words)
    return AlertRule(name, finding.severity, finding.query, finding.alert_after, summary, action)


def _rose(series: str, window: str) -> str:
    """Return PromQL for a counter that rose or began within a window: a first count starts at 1, not at 0."""
    monitored = f'up{{job="node"}} offset {window} == 1'  # else every old count is new to a new Prometheus
    began = f"({series} unless {series} offset {window}) and on (instance) ({monitored})"
    return f"(increase({series}[{window}]) > 0) or ({began})"


CRITICAL_XIDS = "|".join(str(row.number) for row in XIDS if row.severity == CRITICAL)
# What no finding queries: XIDs arrive there as events.
OTHERS = (
    AlertRule(
        "Xid",
        CRITICAL,
        _rose(f'vigie_xid_errors_total{{xid=~"{CRITICAL_XIDS}"}}', "15m"),
        "0s",
        f"XID {{{{ $labels.xid }}}} on the GPU at {{{{ $labels.pci_bus_id }}}} of {NODE}.",
        f"Drain {NODE}. For NVIDIA's advice: `vigie events --kind xid --node {NODE}`.",
    ),
    AlertRule(
        "ExporterDown",
        WARNING,
        'up{job!="node"} == 0',
        "10m",
        f"{{{{ $labels.job }}}} on {NODE} is down.",
        "See its last error under Targets (`/api/v1/targets` of the server).",
    ),
    AlertRule(
        "StoreDamaged",
        CRITICAL,
        "vigie_server_store_damages > 0",
        "0s",
        "Store corruption found.",
        "Check the disk (`smartctl`, `dmesg`), run `vigie store check`. Results leave out damaged data.",
    ),
)


def _build_alerts() -> Iterator[AlertRule]:
    yield from (_from_finding(finding) for finding in all_findings() if finding.alert_after)
    yield from OTHERS


ALERTS = tuple(sorted(_build_alerts(), key=lambda rule: (-RANK[rule.severity], rule.name)))

_SENT, _RECEIVED = "transmitted", "received"
_IB = "rate(node_infiniband_port_data_{}_bytes_total[5m])"
# Average, minimum and maximum of each node's GPUs and ports, named after their series.
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


def _build_recordings() -> Iterator[RecordingRule]:
    for name, promql in ACROSS.items():
        for operator in ("avg", "min", "max"):
            yield RecordingRule(f"instance:{name}:{operator}", f"{operator} by (instance) ({promql})")


RECORDINGS = tuple(_build_recordings())
