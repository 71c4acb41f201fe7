"""The charts of the page User."""

from __future__ import annotations

from vigie.dashboards._choices import A_USER, OF_USER
from vigie.dashboards._holder_promql import build_allocation_panel, build_share_panel
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Section

_GPU = f"and on (instance, gpu) {OF_USER}"

_CHARTS = (
    build_allocation_panel("mine", 'vigie_holder_info{user=~"$user", gpu!=""}'),
    build_share_panel(
        "Busy",
        "A GPU by name at the bottom is held and does nothing: give it back or find out why it waits.",
        f"vigie_gpu_busy_ratio {_GPU}",
    ),
    build_share_panel(
        "GPU memory",
        "Memory near the full line risks an error; memory never near it would fit a smaller GPU.",
        f"vigie_gpu_memory_used_bytes / vigie_gpu_memory_total_bytes {_GPU}",
    ),
    Panel(
        "Power",
        "What these GPUs draw in all: compare the level with the days on which work went well.",
        (PanelQuery(f"sum(vigie_gpu_power_watts {_GPU})", "drawn"),),
        "watts",
        floor=0,
        needs="the nvidia or amdgpu source",
    ),
)

DASHBOARD = Dashboard(
    "page-user",
    "User",
    "What do I hold, is it used, what did it cost?",
    (Section("Charts", _CHARTS),),
    (A_USER,),
    listed=False,
)
