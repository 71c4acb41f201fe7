"""Charts of the cluster page."""

from __future__ import annotations

from vigie.dashboards._build import rate
from vigie.dashboards._choices import A_WIRE, OF_AGENTS
from vigie.dashboards._holder_promql import build_allocation_panel
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Section

_SENT = rate("node_infiniband_port_data_transmitted_bytes_total", OF_AGENTS)
_OUT = rate("node_network_transmit_bytes_total", f"{OF_AGENTS}, {A_WIRE}")

DASHBOARD = Dashboard(
    "page-cluster",
    "Cluster",
    "Is anything broken, is it used, by whom?",
    (
        Section(
            "Charts",
            (
                build_allocation_panel("all", 'vigie_holder_info{gpu!=""}'),
                Panel(
                    "Power of all GPUs",
                    "Power follows work. A drop while GPUs stay allocated: they are waiting.",
                    (
                        PanelQuery("sum(vigie_gpu_power_watts)", "drawn"),
                        PanelQuery("sum(vigie_gpu_power_limit_watts)", "allowed"),
                    ),
                    "watts",
                    needs="the nvidia or amdgpu source",
                ),
                Panel(
                    "Fabric traffic",
                    "Jobs over many nodes give a steady level. A drop to 0 is a hang or a lost link.",
                    (
                        PanelQuery(f"sum({_SENT})", "InfiniBand"),
                        PanelQuery(
                            f"sum({_OUT})",
                            "Ethernet",
                        ),
                    ),
                    "bytes/s",
                ),
            ),
        ),
    ),
    listed=False,
)
