"""vigie itself: what the server and the agents do and cost."""

from __future__ import annotations

from typing import Any

from vigie.dashboards._build import ANY, ANY_BAD, build_multi_panel, build_panel, rate
from vigie.model.dashboard import Dashboard, Panel, Section

_ASKED = rate("vigie_server_queries_total")
_SPENT = rate("vigie_server_query_seconds_total")
_SERVER = 'job="vigie"'
_AGENTS = 'job="node"'
_NEEDS = "the server's own metrics: it keeps them itself, another Prometheus scrapes its /metrics"


def _number(title: str, why: str, unit: str, promql: str, **rest: Any) -> Panel:
    return build_panel(title, why, unit, promql, kind="number", needs=_NEEDS, **rest)


def _server(title: str, why: str, unit: str, queries: dict[str, str], **rest: Any) -> Panel:
    return build_multi_panel(title, why, unit, queries, needs=_NEEDS, floor=0, **rest)


_NOW = (
    _number(
        "Agents on the line",
        "Fewer than nodes: the page Nodes says which are missing.",
        "count",
        "sum(vigie_server_links)",
    ),
    _number(
        "Series",
        "What the store follows now: a jump is a source or exporter that went wild.",
        "count",
        "sum(vigie_server_series)",
    ),
    _number("Store", "What history takes on disk.", "bytes", "sum(vigie_server_store_bytes)"),
    _number(
        "Memory of the server",
        "It should be flat after some hours.",
        "bytes",
        f"process_resident_memory_bytes{{{_SERVER}}}",
    ),
    _number("CPU of the server", "In cores.", "count", rate("process_cpu_seconds_total", _SERVER)),
    _number(
        "Damages in the store",
        "Anything but 0: run `vigie store check`.",
        "count",
        "sum(vigie_server_store_damages)",
        thresholds=ANY_BAD,
    ),
)
_INTAKE = (
    _server(
        "Samples taken",
        "Steady: a fall means that agents are gone or wait.",
        "ops/s",
        {
            "from agents": rate("vigie_server_link_samples_total"),
            "by remote write": rate("vigie_server_samples_total"),
            "by scraping": rate("vigie_server_scraped_samples_total"),
        },
        stack=True,
    ),
    _server(
        "Frames and events",
        "One frame a node and tick.",
        "ops/s",
        {
            "frames": rate("vigie_server_link_frames_total"),
            "events": rate("vigie_server_link_events_total"),
            "bindings": rate("vigie_server_link_bindings_total"),
        },
    ),
    _server(
        "Refused or failed",
        "Anything steady: the log says whose and why.",
        "ops/s",
        {
            "frames": rate("vigie_server_link_refused_total"),
            "writes": rate("vigie_server_writes_refused_total"),
            "scrapes": rate("vigie_server_scrapes_failed_total"),
        },
    ),
    _server(
        "Waiting",
        "Queues that stay above 0 mean that the server cannot keep up.",
        "count",
        {"{{queue}}": "vigie_server_waiting"},
    ),
    _server(
        "Exporters, by health",
        "Down ones: the page Nodes says why.",
        "count",
        {"{{health}}": "vigie_server_targets"},
        stack=True,
    ),
    _server(
        "Store on disk",
        "Blocks grow until their age or size limit; the log stays small.",
        "bytes",
        {"{{part}}": "vigie_server_store_bytes"},
        stack=True,
    ),
)
_ANSWERS = (
    _server(
        "Questions",
        "Who asks how often: dashboards that reload too fast show here.",
        "ops/s",
        {"{{kind}}": _ASKED},
        stack=True,
    ),
    _server(
        "Time of a question",
        "The mean by kind: above a second people notice.",
        "seconds",
        {"{{kind}}": f"{_SPENT} / ({_ASKED} > 0)"},
    ),
    _server(
        "Questions that failed",
        "Wrong PromQL, or limits that were met.",
        "ops/s",
        {"{{kind}}": rate("vigie_server_queries_failed_total")},
    ),
    _server(
        "Requests, by status",
        "5xx is ours, 4xx the caller's.",
        "ops/s",
        {"{{status}}": f"sum by (status) ({rate('vigie_server_requests_total')})"},
        stack=True,
    ),
    _server(
        "Answers sent",
        "What goes out, by route.",
        "bytes/s",
        {"{{route}}": f"sum by (route) ({rate('vigie_server_sent_bytes_total')})"},
        stack=True,
    ),
    _server(
        "Connections",
        "Links and browsers that are open.",
        "count",
        {"connections": "vigie_server_connections", "requests under way": "vigie_server_requests_running"},
    ),
    _server(
        "Sign-ins that failed",
        "Many in a row: somebody guesses.",
        "ops/s",
        {"by {{by}}": rate("vigie_server_sign_ins_failed_total")},
    ),
)
_PROCESS = (
    _server(
        "CPU", "In cores, the server's.", "count", {"server": rate("process_cpu_seconds_total", _SERVER)}
    ),
    _server(
        "Memory", "Flat after some hours.", "bytes", {"server": f"process_resident_memory_bytes{{{_SERVER}}}"}
    ),
    _server(
        "Open files",
        "One a link and a few a block; near the limit nothing opens.",
        "count",
        {"open": f"process_open_fds{{{_SERVER}}}"},
    ),
)
_AGENT = (
    build_panel(
        "CPU of agents",
        "In cores: below 0.005 is usual.",
        "count",
        rate("process_cpu_seconds_total", _AGENTS),
        "{{instance}}",
        kind="band",
        floor=0,
    ),
    build_panel(
        "Memory of agents",
        "Below 40 MB is usual.",
        "bytes",
        f"process_resident_memory_bytes{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
        floor=0,
    ),
    build_panel(
        "Open files of agents",
        "Flat: a climb is a leak.",
        "count",
        f"process_open_fds{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
        floor=0,
    ),
    build_panel(
        "Series of each agent",
        "A node with far more than the rest has something that multiplies.",
        "count",
        f"vigie_agent_series{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
        floor=0,
    ),
    build_panel(
        "Reads that failed",
        "A source that fails costs only itself, and its data.",
        "ops/s",
        rate("vigie_agent_read_errors_total", _AGENTS),
        "{{instance}}",
        kind="band",
        floor=0,
    ),
    build_panel(
        "Clock against the server",
        "Beyond 10 s the server corrects times and tells it as an event.",
        "seconds",
        "vigie_node_clock_offset_seconds",
        "{{instance}}",
        kind="band",
    ),
    build_panel(
        "Waiting at the agents",
        "What is not yet acknowledged: it grows while the server is away.",
        "bytes",
        f"vigie_agent_link_waiting_bytes{{{_AGENTS}}}",
        "{{instance}}",
        kind="band",
        needs="agents with a link",
        floor=0,
    ),
    build_panel(
        "Dropped by the agents",
        "Lost for want of room while the server was away.",
        "count",
        f"increase(vigie_agent_link_dropped_total{{{_AGENTS}}}[1h])",
        "{{instance}}",
        kind="band",
        thresholds=ANY,
        needs="agents with a link",
        floor=0,
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
    "vigie itself",
    "What the server and the agents do and cost.",
    (
        Section("Now", _NOW),
        Section("What comes in", _INTAKE),
        Section("What is asked", _ANSWERS),
        Section("The server's process", _PROCESS),
        Section("Agents", _AGENT),
    ),
)
