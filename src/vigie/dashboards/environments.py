"""Environments and users: genv environments, and allocated GPUs by user."""

from __future__ import annotations

from vigie.dashboards._build import build_multi_panel, build_panel
from vigie.dashboards._holder_promql import NEEDS as HOLDERS
from vigie.dashboards._holder_promql import WORKING
from vigie.model.dashboard import Dashboard, Panel, Section

_NEEDS = "the genv source"
_DEVICE = "{{instance}}:{{index}}"
_BUSY = "genv_device_utilization / 100"
_FULL = "genv_device_memory_used_bytes / genv_device_memory_total_bytes"
_ALL = "count(genv_process_devices_total)"
_WITHIN = 'count(genv_process_devices_total{eid!=""})'
_HELD = 'max by (instance, gpu, user) (vigie_holder_info{gpu!="", user!=""})'


def _number(title: str, why: str, unit: str, promql: str) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS)


def _each(title: str, why: str, metric: str, unit: str = "count") -> Panel:
    """Build one line per environment. Its id is a process id, unique per node."""
    name = "{{instance}} {{eid}}"
    return build_panel(title, why, unit, f"sum by (instance, eid) ({metric})", name, needs=_NEEDS)


def _whose(title: str, why: str, metric: str) -> Panel:
    """Build one line per user, over all nodes."""
    return build_panel(title, why, "count", f"sum by (username) ({metric})", "{{username}}", needs=_NEEDS)


def _held(metric: str) -> str:
    """Return a GPU metric by the user it is allocated to."""
    return f"max by (instance, gpu) ({metric}) * on (instance, gpu) group_right () {_HELD}"


_NOW = (
    _number(
        "Nodes with genv",
        "Of the scraped nodes. Below 100%, some lack genv.",
        "ratio",
        "avg(genv_is_installed)",
    ),
    _number("Environments", "Active environments.", "count", "sum(genv_environments_total)"),
    _number("Users", "Users with an environment.", "count", "sum(genv_users_total)"),
    _number(
        "GPUs attached",
        "Of all GPUs known to genv.",
        "ratio",
        "sum(genv_attached_devices_total) / count(genv_device_utilization)",
    ),
    _number(
        "Processes in environments",
        "Below 100% a process bypasses genv.",
        "ratio",
        f"({_WITHIN} or 0 * {_ALL}) / {_ALL}",
    ),
    _number("Average GPU busy", "Mean over all GPUs.", "ratio", f"avg({_BUSY})"),
    _number("GPU memory used", "Mean over all GPUs.", "ratio", f"avg({_FULL})"),
    _number("GPU temperature", "Mean over all GPUs.", "celsius", "avg(genv_device_temperature)"),
)
_DEVICES = (
    build_multi_panel(
        "GPUs busy",
        "Outliers are idle or overloaded.",
        "ratio",
        {"average": f"avg({_BUSY})", _DEVICE: _BUSY},
        needs=_NEEDS,
        ceiling=1,
    ),
    build_multi_panel(
        "GPU memory used",
        "Full GPUs cannot be shared.",
        "ratio",
        {"average": f"avg({_FULL})", _DEVICE: _FULL},
        needs=_NEEDS,
        ceiling=1,
    ),
    build_panel(
        "GPU temperature",
        "An outlier has a cooling problem.",
        "celsius",
        "genv_device_temperature",
        _DEVICE,
        needs=_NEEDS,
        floor=None,
    ),
)
_ENVIRONMENTS = (
    _each(
        "Processes by environment",
        "None for long: active but unused.",
        "genv_environment_processes_total",
    ),
    _each("GPUs by environment", "Attached GPUs.", "genv_environment_attached_devices_total"),
    _each(
        "GPU memory by environment",
        "Memory without an environment bypasses genv.",
        "genv_process_used_gpu_memory_bytes",
        "bytes",
    ),
    _whose(
        "Environments by user",
        "More than one is easily forgotten.",
        "genv_user_environments_total",
    ),
    _whose(
        "Processes by user",
        "None for long with GPUs attached: detach.",
        "genv_user_processes_total",
    ),
    _whose("Attached GPUs by user", "In genv.", "genv_user_attached_devices_total"),
)
_USERS = (
    build_panel(
        "Allocated GPUs by user",
        "By jobs, containers or environments.",
        "count",
        f"count by (user) ({_HELD})",
        "{{user}}",
        stack=True,
        needs=HOLDERS,
    ),
    build_panel(
        "Working GPUs by user",
        "Compare with allocated GPUs: the rest is idle.",
        "count",
        f"sum by (user) ({_held(WORKING)})",
        "{{user}}",
        stack=True,
        needs=HOLDERS,
    ),
    build_panel(
        "GPU busy by user",
        "Mean over all allocated GPUs.",
        "ratio",
        f"avg by (user) ({_held('vigie_gpu_busy_ratio')})",
        "{{user}}",
        needs=HOLDERS,
        ceiling=1,
    ),
    build_panel(
        "GPU power by user",
        "Power of each user's GPUs.",
        "watts",
        f"sum by (user) ({_held('vigie_gpu_power_watts')})",
        "{{user}}",
        stack=True,
        needs=HOLDERS,
    ),
)

DASHBOARD = Dashboard(
    "environments",
    "Environments and users",
    "genv environments, and allocated GPUs by user.",
    (
        Section("genv", _NOW),
        Section("genv GPUs", _DEVICES),
        Section("genv environments and users", _ENVIRONMENTS),
        Section("All users", _USERS),
    ),
)
