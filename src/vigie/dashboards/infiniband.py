"""InfiniBand network: every port's traffic, errors and state."""

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
        floor=0,
    )


def _flow(title: str, why: str, promql: str, unit: str = "bytes/s", **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, _NAME, kind="band", needs=_NEEDS, floor=0, **rest)


_TRAFFIC = (
    _flow("Sent", "Ports of one job send alike; a port below the band has a slower or broken way.", _SENT),
    _flow("Received", "As sent: compare the two to find where data is lost.", _RECEIVED),
    _flow(
        "Sent of what the port can carry",
        "Near 100% the link is the limit of the job.",
        f"{_SENT} / on (instance, device, port) node_infiniband_rate_bytes_per_second{{{_PORTS}}}",
        "ratio",
        ceiling=1,
    ),
    _flow(
        "Packets sent",
        "Many packets with few bytes are small messages: latency, not bandwidth, counts then.",
        rate("node_infiniband_port_packets_transmitted_total", _PORTS),
        "ops/s",
    ),
    _flow(
        "Packets received",
        "As sent; broadcast storms show here first.",
        rate("node_infiniband_port_packets_received_total", _PORTS),
        "ops/s",
    ),
    _flow(
        "Waiting for credit",
        "Ticks in which data waited: a port that waits more than the rest sits behind congestion.",
        rate("node_infiniband_port_transmit_wait_total", _PORTS),
        "ops/s",
    ),
)
_STATE = (
    build_panel(
        "Link up",
        "No is polling or disabled: the cable, the optic or the switch's port.",
        "bool",
        f"node_infiniband_physical_state_id{{{_PORTS}}} == bool 5",
        _NAME,
        kind="band",
        thresholds=NOT_UP,
        needs=_NEEDS,
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Port active",
        "A port whose link is up and that is not active waits for the subnet manager.",
        "bool",
        f"node_infiniband_state_id{{{_PORTS}}} == bool 4",
        _NAME,
        kind="band",
        thresholds=NOT_UP,
        needs=_NEEDS,
        floor=0,
        ceiling=1,
    ),
    build_panel(
        "Links that went down in the last hour",
        "A link that falls again and again has a bad cable or optic.",
        "count",
        f"increase(node_infiniband_link_downed_total{{{_PORTS}}}[1h]) > 0",
        _NAME,
        kind="table",
        thresholds=ANY,
        needs=f"{_NEEDS}; empty is good",
    ),
    build_panel(
        "Links down now",
        "Each row is a port without a link.",
        "count",
        f"node_infiniband_physical_state_id{{{_PORTS}}} != 5",
        _NAME,
        kind="table",
        thresholds=ANY,
        needs=f"{_NEEDS}; empty is good",
    ),
    _flow(
        "Speed of the link",
        "A port below the others was trained to a lower speed.",
        f"node_infiniband_rate_bytes_per_second{{{_PORTS}}} * 8",
        "bits/s",
    ),
)
_ERRORS = (
    _errors("Symbol errors", "A steady rate is a bad cable or optic.", "symbol_error"),
    _errors("Errors received", "Packets that came broken.", "port_errors_received"),
    _errors(
        "Discards, sent",
        "Packets thrown away since the way was blocked or down.",
        "port_discards_transmitted",
    ),
    _errors(
        "Constraint errors, sent",
        "A filter of the switch's port dropped them: partition keys.",
        "port_constraint_errors_transmitted",
    ),
    _errors(
        "Constraint errors, received", "As sent, in the other direction.", "port_constraint_errors_received"
    ),
    _errors(
        "Link integrity errors",
        "The link passed its limit of physical errors.",
        "local_link_integrity_errors",
    ),
    _errors("Recoveries", "Times a link recovered: the forerunner of one that falls.", "link_error_recovery"),
    _errors("Buffer overruns", "Flow control that let a buffer overrun.", "excessive_buffer_overrun_errors"),
    _errors(
        "Management packets dropped",
        "The subnet manager's packets: too many and it is overloaded.",
        "vl15_dropped",
    ),
)

DASHBOARD = Dashboard(
    "infiniband",
    "InfiniBand network",
    "Every port's traffic, errors and state.",
    (
        Section("Traffic", _TRAFFIC),
        Section("State", _STATE),
        Section("Errors", _ERRORS),
    ),
    _VARIABLES,
)
