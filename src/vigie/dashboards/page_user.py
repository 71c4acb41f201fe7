"""The charts of the page User."""

from __future__ import annotations

from vigie.dashboards._choices import A_USER, NAME, OF_USER
from vigie.dashboards._held import held_and_working
from vigie.model.panel import Dashboard, Panel, Query, Section

_GPU = f"and on (instance, gpu) {OF_USER}"

_CHARTS = (
    held_and_working("mine", 'vigie_holder_info{user=~"$user", gpu!=""}'),
    Panel(
        "Busy",
        "A GPU by name at the bottom is held and does nothing: give it back or find out why it waits.",
        (Query(f"vigie_gpu_busy_ratio {_GPU}", NAME),),
        "ratio",
        "band",
        floor=0,
        ceiling=1,
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "GPU memory",
        "Memory near the full line risks an error; memory never near it would fit a smaller GPU.",
        (
            Query(
                f"vigie_gpu_memory_used_bytes / vigie_gpu_memory_total_bytes {_GPU}",
                NAME,
            ),
        ),
        "ratio",
        "band",
        floor=0,
        ceiling=1,
        needs="the nvidia or amdgpu source",
    ),
    Panel(
        "Power",
        "What these GPUs draw in all: compare the level with the days on which work went well.",
        (Query(f"sum(vigie_gpu_power_watts {_GPU})", "drawn"),),
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
