"""InfiniBand network: traffic, errors and state by port."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY, NOT_UP, build_panel, rate
from vigie.dashboards._choices import ON_HOST
from vigie.model.dashboard import Dashboard, Panel, Section, Threshold, Variable

_NEEDS = "the infiniband source (an adapter in /sys/class/infiniband)"
_PORTS = f'{ON_HOST}, device=~"$device"'
_NAME = "{{instance}} {{device}}:{{port}}"
_VARIABLES = (
    Variable("node", "Nodes", metric="node_infiniband_state_id", by="instance", multi=True),
    Variable(
        "device", "Adapters", metric='node_infiniband_state_id{instance=~"$node"}', by="device", multi=True
    ),
)
_SENT = rate("node_infiniband_port_data_transmitted_bytes_total", _PORTS)
_RECEIVED = rate("node_infiniband_port_data_received_bytes_total", _PORTS)


def _errors(title: str, why: str, metric: str) -> Panel:
    return build_panel(
        title,
        why,
        "ops/s",
        rate(f"node_infiniband_{metric}_total", _PORTS),
        _NAME,
        kind="band",
        thresholds=(Threshold(1, "warning"),),
        needs=_NEEDS,
    )


def _flow(title: str, why: str, promql: str, unit: str = "bytes/s", **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, kind="band", needs=_NEEDS, **rest)


_TRAFFIC = (
    _flow("Sent", "Ports of one job send alike. One below the band has a slow or faulty path.", _SENT),
    _flow("Received", "As sent. Compare both to find lost data.", _RECEIVED),
    _flow(
        "Port utilization",
        "Near 100% the link limits the job.",
        f"{_SENT} / on (instance, device, port) node_infiniband_rate_bytes_per_second{{{_PORTS}}}",
        "ratio",
        ceiling=1,
    ),
    _flow(
        "Packets sent",
        "Many packets with few bytes are small messages: latency matters, not bandwidth.",
        rate("node_infiniband_port_packets_transmitted_total", _PORTS),
        "ops/s",
    ),
    _flow(
        "Packets received",
        "As sent. Broadcast storms appear here first.",
        rate("node_infiniband_port_packets_received_total", _PORTS),
        "ops/s",
    ),
    _flow(
        "Transmit wait",
        "Time data waited for credits. A port above the rest is behind congestion.",
        rate("node_infiniband_port_transmit_wait_total", _PORTS),
        "ops/s",
    ),
)
_STATE = (
    build_panel(
        "Link up",
        "No: polling or disabled. Check cable, optic and switch port.",
        "bool",
        f"node_infiniband_physical_state_id{{{_PORTS}}} == bool 5",
        _NAME,
        kind="band",
        thresholds=NOT_UP,
        needs=_NEEDS,
        ceiling=1,
    ),
    build_panel(
        "Port active",
        "Link up but not active: waiting for the subnet manager.",
        "bool",
        f"node_infiniband_state_id{{{_PORTS}}} == bool 4",
        _NAME,
        kind="band",
        thresholds=NOT_UP,
        needs=_NEEDS,
        ceiling=1,
    ),
    build_panel(
        "Link-down events, 1h",
        "A flapping link has a bad cable or optic.",
        "count",
        f"increase(node_infiniband_link_downed_total{{{_PORTS}}}[1h]) > 0",
        _NAME,
        kind="table",
        thresholds=ANY,
        needs=f"{_NEEDS}; empty is good",
    ),
    build_panel(
        "Links down now",
        "Ports without a link.",
        "count",
        f"node_infiniband_physical_state_id{{{_PORTS}}} != 5",
        _NAME,
        kind="table",
        thresholds=ANY,
        needs=f"{_NEEDS}; empty is good",
    ),
    _flow(
        "Link speed",
        "A port below the others negotiated a lower speed.",
        f"node_infiniband_rate_bytes_per_second{{{_PORTS}}} * 8",
        "bits/s",
    ),
)
_ERRORS = (
    _errors("Symbol errors", "A steady rate is a bad cable or optic.", "symbol_error"),
    _errors("Errors received", "Packets received with errors.", "port_errors_received"),
    _errors(
        "Transmit discards",
        "Packets dropped because the path was blocked or down.",
        "port_discards_transmitted",
    ),
    _errors(
        "Transmit constraint errors",
        "Dropped by a filter of the switch port: partition keys.",
        "port_constraint_errors_transmitted",
    ),
    _errors(
        "Receive constraint errors", "As above, in the other direction.", "port_constraint_errors_received"
    ),
    _errors(
        "Link integrity errors",
        "Local physical errors exceeded their threshold.",
        "local_link_integrity_errors",
    ),
    _errors("Recoveries", "Link error recoveries often precede failure.", "link_error_recovery"),
    _errors("Buffer overruns", "Buffer overruns by flow control errors.", "excessive_buffer_overrun_errors"),
    _errors(
        "Management packets dropped",
        "Subnet management packets. Many drops: it is overloaded.",
        "vl15_dropped",
    ),
)

DASHBOARD = Dashboard(
    "infiniband",
    "InfiniBand network",
    "Traffic, errors and state by port.",
    (
        Section("Traffic", _TRAFFIC),
        Section("State", _STATE),
        Section("Errors", _ERRORS),
    ),
    _VARIABLES,
)
