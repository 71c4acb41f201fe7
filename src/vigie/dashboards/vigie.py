"""vigie health: load and cost of server and agents."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY, ANY_BAD, build_multi_panel, build_panel, rate
from vigie.model.dashboard import Dashboard, Panel, Section

_ASKED = rate("vigie_server_queries_total")
_SPENT = rate("vigie_server_query_seconds_total")
_SERVER = 'job="vigie"'
_AGENTS = 'job="node"'
_NEEDS = "the server's own metrics, stored by itself; for another Prometheus, scrape its /metrics"


def _number(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS, **rest)


def _server(title: str, why: str, unit: str, queries: dict[str, str], **rest: Any) -> Panel:
    return build_multi_panel(title, why, unit, queries, needs=_NEEDS, **rest)


_NOW = (
    _number(
        "Connected agents",
        "Fewer than nodes: see Nodes for the missing ones.",
        "count",
        "sum(vigie_server_links)",
    ),
    _number(
        "Series",
        "Active series. A jump is a source or exporter gone wild.",
        "count",
        "sum(vigie_server_series)",
    ),
    _number("Store", "Disk space of the store.", "bytes", "sum(vigie_server_store_bytes)"),
    _number(
        "Server memory",
        "Flat after some hours.",
        "bytes",
        f"process_resident_memory_bytes{{{_SERVER}}}",
    ),
    _number("Server CPU", "In cores.", "count", rate("process_cpu_seconds_total", _SERVER)),
    _number(
        "Store corruption",
        "Above 0: run `vigie store check`.",
        "count",
        "sum(vigie_server_store_damages)",
        thresholds=ANY_BAD,
    ),
)
_INTAKE = (
    _server(
        "Ingested samples",
        "Steady. A drop: agents are gone or waiting.",
        "ops/s",
        {
            "from agents": rate("vigie_server_link_samples_total"),
            "remote write": rate("vigie_server_samples_total"),
            "scraped": rate("vigie_server_scraped_samples_total"),
        },
        stack=True,
    ),
    _server(
        "Frames and events",
        "One frame per node and tick.",
        "ops/s",
        {
            "frames": rate("vigie_server_link_frames_total"),
            "events": rate("vigie_server_link_events_total"),
            "bindings": rate("vigie_server_link_bindings_total"),
        },
    ),
    _server(
        "Rejected or failed",
        "A steady rate: the log has details.",
        "ops/s",
        {
            "frames": rate("vigie_server_link_refused_total"),
            "writes": rate("vigie_server_writes_refused_total"),
            "scrapes": rate("vigie_server_scrapes_failed_total"),
        },
    ),
    _server(
        "Waiting",
        "Queues above 0 for long: the server cannot keep up.",
        "count",
        {"{{queue}}": "vigie_server_waiting"},
    ),
    _server(
        "Exporters by health",
        "Nodes shows the reason of those that are down.",
        "count",
        {"{{health}}": "vigie_server_targets"},
        stack=True,
    ),
    _server(
        "Store on disk",
        "Blocks grow to their age or size limit. The log stays small.",
        "bytes",
        {"{{part}}": "vigie_server_store_bytes"},
        stack=True,
    ),
)
_ANSWERS = (
    _server(
        "Questions",
        "By kind. Dashboards that reload too often appear here.",
        "ops/s",
        {"{{kind}}": _ASKED},
        stack=True,
    ),
    _server(
        "Query duration",
        "Mean by kind. Above 1 s users notice.",
        "seconds",
        {"{{kind}}": f"{_SPENT} / ({_ASKED} > 0)"},
    ),
    _server(
        "Failed queries",
        "Invalid PromQL, or exceeded limits.",
        "ops/s",
        {"{{kind}}": rate("vigie_server_queries_failed_total")},
    ),
    _server(
        "Requests by status",
        "5xx: server errors. 4xx: client errors.",
        "ops/s",
        {"{{status}}": f"sum by (status) ({rate('vigie_server_requests_total')})"},
        stack=True,
    ),
    _server(
        "Response bytes",
        "By route.",
        "bytes/s",
        {"{{route}}": f"sum by (route) ({rate('vigie_server_sent_bytes_total')})"},
        stack=True,
    ),
    _server(
        "Connections",
        "Open links and browser connections.",
        "count",
        {"connections": "vigie_server_connections", "requests in flight": "vigie_server_requests_running"},
    ),
    _server(
        "Failed sign-ins",
        "Many in a row: possible password guessing.",
        "ops/s",
        {"by {{by}}": rate("vigie_server_sign_ins_failed_total")},
    ),
)
_PROCESS = (
    _server("CPU", "Server CPU, in cores.", "count", {"server": rate("process_cpu_seconds_total", _SERVER)}),
    _server(
        "Memory", "Flat after some hours.", "bytes", {"server": f"process_resident_memory_bytes{{{_SERVER}}}"}
    ),
    _server(
        "Open files",
        "One per link and a few per block. At the limit nothing opens.",
        "count",
        {"open": f"process_open_fds{{{_SERVER}}}"},
    ),
)
_AGENT = (
    build_panel(
        "Agent CPU",
        "In cores. Below 0.005 is normal.",
        "count",
        rate("process_cpu_seconds_total", _AGENTS),
        "{{instance}}",
        kind="band",
    ),
    build_panel(
        "Agent memory",
        "Below 40 MB is normal.",
        "bytes",
        f"process_resident_memory_bytes{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
    ),
    build_panel(
        "Open files by agent",
        "Flat. Steady growth is a leak.",
        "count",
        f"process_open_fds{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
    ),
    build_panel(
        "Series by agent",
        "A node far above the rest has a source gone wild.",
        "count",
        f"vigie_agent_series{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
    ),
    build_panel(
        "Failed reads",
        "A failing source affects only its own data.",
        "ops/s",
        rate("vigie_agent_read_errors_total", _AGENTS),
        "{{instance}}",
        kind="band",
    ),
    build_panel(
        "Clock offset to the server",
        "Above 10 s the server corrects timestamps and reports an event.",
        "seconds",
        "vigie_node_clock_offset_seconds",
        "{{instance}}",
        kind="band",
        floor=None,
    ),
    build_panel(
        "Buffered by agents",
        "Not yet acknowledged. It grows while the server is unreachable.",
        "bytes",
        f"vigie_agent_link_waiting_bytes{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
        needs="agents with a link",
    ),
    build_panel(
        "Dropped by agents",
        "Lost because the buffer was full.",
        "count",
        f"increase(vigie_agent_link_dropped_total{{{_AGENTS}}}[1h])",
        "{{instance}}",
        kind="band",
        thresholds=ANY,
        needs="agents with a link",
    ),
    build_panel(
        "Versions",
        "More than one: an update has not reached every node.",
        "count",
        "count by (version) (vigie_agent_build_info)",
        "agents",
        kind="table",
    ),
)

DASHBOARD = Dashboard(
    "itself",
    "vigie health",
    "Load and cost of server and agents.",
    (
        Section("Now", _NOW),
        Section("Ingest", _INTAKE),
        Section("Queries", _ANSWERS),
        Section("Server process", _PROCESS),
        Section("Agents", _AGENT),
    ),
)
