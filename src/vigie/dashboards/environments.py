"""Environments and users: genv's environments, and who holds how many GPUs."""

from __future__ import annotations

from vigie.dashboards._build import build_multi_panel, build_panel
from vigie.dashboards._holder_promql import NEEDS as HOLDERS
from vigie.dashboards._holder_promql import WORKING
from vigie.model.dashboard import Dashboard, Panel, Section

_NEEDS = "a genv monitor that is scraped (a source of our own is to come)"
_DEVICE = "{{instance}}:{{index}}"
_BUSY = "genv_device_utilization / 100"
_FULL = "genv_device_memory_used_bytes / genv_device_memory_total_bytes"
_ALL = "count(genv_process_devices_total)"
_WITHIN = 'count(genv_process_devices_total{eid!=""})'
_HELD = 'max by (instance, gpu, user) (vigie_holder_info{gpu!="", user!=""})'


def _number(title: str, why: str, unit: str, promql: str) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS)


def _each(title: str, why: str, metric: str, unit: str = "count") -> Panel:
    """Return a line for each environment: its number is that of a process, and means one on its node only."""
    name = "{{instance}} {{eid}}"
    return build_panel(title, why, unit, f"sum by (instance, eid) ({metric})", name, needs=_NEEDS, floor=0)


def _whose(title: str, why: str, metric: str) -> Panel:
    """Return a line for each user, over all nodes."""
    return build_panel(
        title, why, "count", f"sum by (username) ({metric})", "{{username}}", needs=_NEEDS, floor=0
    )


def _held(metric: str) -> str:
    """Return a measure of GPUs for each user who holds them."""
    return f"max by (instance, gpu) ({metric}) * on (instance, gpu) group_right () {_HELD}"


_NOW = (
    _number(
        "Nodes with genv",
        "Of those that were asked; below 100% some of them lack it.",
        "ratio",
        "avg(genv_is_installed)",
    ),
    _number("Environments", "How many are open now.", "count", "sum(genv_environments_total)"),
    _number("Users", "Who have an environment.", "count", "sum(genv_users_total)"),
    _number(
        "GPUs attached",
        "Of all GPUs that genv sees.",
        "ratio",
        "sum(genv_attached_devices_total) / count(genv_device_utilization)",
    ),
    _number(
        "Processes within environments",
        "Below 100% somebody works past genv.",
        "ratio",
        f"({_WITHIN} or 0 * {_ALL}) / {_ALL}",
    ),
    _number("GPUs busy", "On average over all.", "ratio", f"avg({_BUSY})"),
    _number("GPU memory in use", "On average over all.", "ratio", f"avg({_FULL})"),
    _number("GPU temperature", "On average over all.", "celsius", "avg(genv_device_temperature)"),
)
_DEVICES = (
    build_multi_panel(
        "GPUs busy",
        "One apart from the average is idle or overloaded.",
        "ratio",
        {"average": f"avg({_BUSY})", _DEVICE: _BUSY},
        needs=_NEEDS,
        floor=0,
        ceiling=1,
    ),
    build_multi_panel(
        "GPU memory in use",
        "Full ones cannot be shared.",
        "ratio",
        {"average": f"avg({_FULL})", _DEVICE: _FULL},
        needs=_NEEDS,
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "GPU temperature",
        "One apart from the rest is badly cooled.",
        "celsius",
        "genv_device_temperature",
        _DEVICE,
        needs=_NEEDS,
    ),
)
_ENVIRONMENTS = (
    _each(
        "Processes, by environment",
        "None for long: it is open and does nothing.",
        "genv_environment_processes_total",
    ),
    _each("GPUs, by environment", "What each has attached.", "genv_environment_attached_devices_total"),
    _each(
        "GPU memory, by environment",
        "Without an environment is memory that nobody asked genv for.",
        "genv_process_used_gpu_memory_bytes",
        "bytes",
    ),
    _whose(
        "Environments, by user",
        "More than one each are easily forgotten.",
        "genv_user_environments_total",
    ),
    _whose(
        "Processes, by user",
        "None for long with GPUs attached: to be given back.",
        "genv_user_processes_total",
    ),
    _whose("GPUs, by user in genv", "What each has attached.", "genv_user_attached_devices_total"),
)
_USERS = (
    build_panel(
        "GPUs held, by user",
        "Whoever holds the most, by jobs, containers or environments.",
        "count",
        f"count by (user) ({_HELD})",
        "{{user}}",
        stack=True,
        needs=HOLDERS,
        floor=0,
    ),
    build_panel(
        "GPUs working, by user",
        "Compare with what is held: the rest is idle.",
        "count",
        f"sum by (user) ({_held(WORKING)})",
        "{{user}}",
        stack=True,
        needs=HOLDERS,
        floor=0,
    ),
    build_panel(
        "Busy, by user",
        "The mean over all GPUs that a user holds.",
        "ratio",
        f"avg by (user) ({_held('vigie_gpu_busy_ratio')})",
        "{{user}}",
        needs=HOLDERS,
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Power, by user",
        "What each user's GPUs draw.",
        "watts",
        f"sum by (user) ({_held('vigie_gpu_power_watts')})",
        "{{user}}",
        stack=True,
        needs=HOLDERS,
        floor=0,
    ),
)

DASHBOARD = Dashboard(
    "environments",
    "Environments and users",
    "genv's environments, and who holds how many GPUs by any means.",
    (
        Section("genv now", _NOW),
        Section("genv's GPUs", _DEVICES),
        Section("genv's environments and users", _ENVIRONMENTS),
        Section("All users", _USERS),
    ),
)
