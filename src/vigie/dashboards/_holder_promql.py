"""Allocated and working GPUs, for several dashboards."""

from __future__ import annotations

from vigie.dashboards._choices import NAME
from vigie.model.dashboard import Panel, PanelQuery

# A GPU that was busy for less of the last five minutes is not working.
WORKING = "avg_over_time(vigie_gpu_busy_ratio[5m]) >= bool 0.05"
NEEDS = "a source of allocations: `gpu_holders` (on by default), Slurm or genv"


def count_allocated(holders: str) -> str:
    """Return the number of GPUs allocated to these holders; 0 only if GPUs are known."""
    return f"count(count by (instance, gpu) ({holders})) or 0 * count(vigie_gpu_info)"


def count_working(holders: str) -> str:
    """Return the number of GPUs allocated to these holders that are working."""
    return f"sum(({WORKING}) and on (instance, gpu) {holders})"


def build_allocation_panel(who: str, holders: str) -> Panel:
    """Build the chart of allocated and working GPUs."""
    return Panel(
        f"Allocated and working GPUs {who}",
        "A lasting gap means idle allocations.",
        (PanelQuery(count_allocated(holders), "held"), PanelQuery(count_working(holders), "working")),
        "count",
        needs=NEEDS,
    )


def build_share_panel(title: str, why: str, promql: str) -> Panel:
    """Build a chart of a share from 0 to 1, as a band over GPUs with named outliers."""
    return Panel(
        title,
        why,
        (PanelQuery(promql, NAME),),
        "ratio",
        "band",
        ceiling=1,
        needs="the nvidia or amdgpu source",
    )
