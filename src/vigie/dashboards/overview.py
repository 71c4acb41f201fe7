"""genv's overview: its eleven panels, for those who know them."""

from __future__ import annotations

from vigie.dashboards._build import build_multi_panel, build_panel
from vigie.model.dashboard import Dashboard, Panel, Section

_NEEDS = "the genv source"
_DEVICE = "{{instance}}:{{index}}"
_BUSY = "genv_device_utilization / 100"
_MEMORY = "genv_device_memory_used_bytes / genv_device_memory_total_bytes"
_PROCESSES = "count(genv_process_devices_total)"
_WITHIN = 'count(genv_process_devices_total{eid!=""})'


def _number(title: str, why: str, unit: str, promql: str) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS)


def _series(title: str, why: str, unit: str, promql: str) -> Panel:
    queries = {"average": f"avg({promql})", _DEVICE: promql}
    return build_multi_panel(
        title, why, unit, queries, needs=_NEEDS, floor=0, ceiling=1 if unit == "ratio" else None
    )


_GENV = (
    _number("genv installation", "Below 100%, some nodes lack genv.", "ratio", "avg(genv_is_installed)"),
    _number("Environments", "Active environments on all nodes.", "count", "sum(genv_environments_total)"),
    _number("Users", "Users with an environment.", "count", "sum(genv_users_total)"),
    _number(
        "Attached GPUs",
        "Share of all GPUs that are attached to an environment.",
        "ratio",
        "sum(genv_attached_devices_total) / count(genv_device_utilization)",
    ),
    _number(
        "Processes in environments",
        "Below 100%, some processes bypass genv.",
        "ratio",
        f"({_WITHIN} or 0 * {_PROCESSES}) / {_PROCESSES}",
    ),
)
_DEVICES = (
    _number("Average GPU busy", "Low with all GPUs attached: idle environments.", "ratio", f"avg({_BUSY})"),
    _series("GPU busy", "A GPU far from the average is idle or overloaded.", "ratio", _BUSY),
    _number("Average GPU memory", "High with low busy: unused memory.", "ratio", f"avg({_MEMORY})"),
    _series("GPU memory", "A full GPU cannot be shared.", "ratio", _MEMORY),
    _number(
        "Average temperature", "A rise everywhere is the room.", "celsius", "avg(genv_device_temperature)"
    ),
    _series(
        "GPU temperature", "A GPU far above the others is badly cooled.", "celsius", "genv_device_temperature"
    ),
)

DASHBOARD = Dashboard(
    "overview",
    "genv overview",
    "Environments, users and GPUs of all nodes with genv.",
    (Section("genv", _GENV), Section("GPUs", _DEVICES)),
)
