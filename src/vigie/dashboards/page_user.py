"""Charts of the user page."""

from __future__ import annotations

from vigie.dashboards._choices import A_USER, OF_USER
from vigie.dashboards._holder_promql import build_allocation_panel, build_share_panel
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Section

_GPU = f"and on (instance, gpu) {OF_USER}"

_CHARTS = (
    build_allocation_panel("mine", 'vigie_holder_info{user=~"$user", gpu!=""}'),
    build_share_panel(
        "Busy",
        "A GPU at the bottom is allocated but idle: release it or find out why it waits.",
        f"vigie_gpu_busy_ratio {_GPU}",
    ),
    build_share_panel(
        "GPU memory",
        "Near 100% risks an error. Never near it: a smaller GPU would do.",
        f"vigie_gpu_memory_used_bytes / vigie_gpu_memory_total_bytes {_GPU}",
    ),
    Panel(
        "Power",
        "Total power. Compare with days of normal work.",
        (PanelQuery(f"sum(vigie_gpu_power_watts {_GPU})", "drawn"),),
        "watts",
        needs="the nvidia or amdgpu source",
    ),
)

DASHBOARD = Dashboard(
    "page-user",
    "User",
    "What is allocated to me, is it used, what did it cost?",
    (Section("Charts", _CHARTS),),
    (A_USER,),
    listed=False,
)
