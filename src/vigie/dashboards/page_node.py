"""Charts of the node page."""

from __future__ import annotations

from vigie.dashboards import _host
from vigie.dashboards._choices import A_NODE
from vigie.model.dashboard import Dashboard, Section

DASHBOARD = Dashboard(
    "page-node",
    "Node",
    "Is it healthy, who uses it, what limits it?",
    (
        Section(
            "Charts",
            (
                _host.CPU,
                _host.MEMORY,
                _host.PRESSURE,
                _host.DISK_IO,
                _host.NETWORK,
                _host.INFINIBAND,
                _host.TEMPERATURES,
                _host.POWER,
            ),
        ),
        Section("More", (_host.SPACE,)),
    ),
    (A_NODE,),
    listed=False,
)
