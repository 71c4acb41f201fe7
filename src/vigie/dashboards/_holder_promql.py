"""How many GPUs are held, and how many of those work: the questions that several dashboards ask."""

from __future__ import annotations

from vigie.dashboards._choices import NAME
from vigie.model.dashboard import Panel, PanelQuery

# A GPU that ran something for less of the last five minutes does not work.
WORKING = "avg_over_time(vigie_gpu_busy_ratio[5m]) >= bool 0.05"
NEEDS = "a source that tells who holds GPUs (those of Slurm, containers and genv are to come)"


def count_allocated(holders: str) -> str:
    """Return the number of GPUs that these holders have; 0 only where GPUs are known."""
    return f"count(count by (instance, gpu) ({holders})) or 0 * count(vigie_gpu_info)"


def count_working(holders: str) -> str:
    """Return the number of GPUs that these holders have and that are busy."""
    return f"sum(({WORKING}) and on (instance, gpu) {holders})"


def build_allocation_panel(who: str, holders: str) -> Panel:
    """Return the chart of what is held, works, and is held in vain."""
    return Panel(
        f"GPUs held and working, {who}",
        "A gap between the two is paid for and does nothing: look for one that stays.",
        (PanelQuery(count_allocated(holders), "held"), PanelQuery(count_working(holders), "working")),
        "count",
        floor=0,
        needs=NEEDS,
    )


def build_share_panel(title: str, why: str, promql: str) -> Panel:
    """Return the chart of a share from 0 to 1, as a band over GPUs in which the odd one is named."""
    return Panel(
        title,
        why,
        (PanelQuery(promql, NAME),),
        "ratio",
        "band",
        floor=0,
        ceiling=1,
        needs="the nvidia or amdgpu source",
    )
