"""The Nodes page and the Node page: whether a node is healthy, who is on it, and what limits it."""

from __future__ import annotations

from typing import Literal

from vigie.server.pages.cluster_page import summarize_incidents
from vigie.server.pages.gpu_map import GpuCells
from vigie.server.pages.humanize import join_words, pluralize
from vigie.server.pages.incident_rows import IncidentRows
from vigie.server.pages.queries import label_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult
from vigie.server.pages.rows import JobRows, NodeRows
from vigie.server.pages.snapshot import Snapshot
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.widgets import CRITICAL, OK, UNKNOWN, WARNING, build_stat, build_verdict
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.pages import NodePage, NodesPage
from vigie.wire.api.rows import (
    AgentUsage,
    GpuCell,
    IncidentRow,
    ListedNode,
    NodeDetails,
    NodeHolder,
    NodeHolders,
    ProcessRow,
    SourceRow,
    Stat,
    Verdict,
)

STALE_SECONDS = 300.0
ORDER = ("error", "stale", "ok", "unavailable")
AGENTS = 'job="node"'  # a node exporter beside one tells the same of its own
WITHOUT = "there is nothing of this kind on this machine"
MAX_PROCESSES = 50
SILENT = "the node does not say so at this moment"
NO_RATE = "it takes two readings within two minutes"


def source_queries(here: str) -> dict[str, BatchQuery]:
    """Return what has to be asked; `here` is a matcher of the node."""
    return {
        "success": BatchQuery(f"node_scrape_collector_success{{{here}, {AGENTS}}}", ("collector",)),
        "duration": BatchQuery(f"node_scrape_collector_duration_seconds{{{here}, {AGENTS}}}", ("collector",)),
        "age": BatchQuery(f"vigie_agent_source_age_seconds{{{here}}}", ("source",)),
        "outcome": BatchQuery(f"vigie_agent_source_info{{{here}}}", ("source", "state", "reason")),
    }


def build_sources(found: BatchResult) -> list[SourceRow]:
    """Return each source, its state with the reason, and what its last read cost; trouble first."""
    why = {row.labels[0]: (row.labels[1], row.labels[2]) for row in found.rows.get("outcome", ())}
    seconds, age = found.numbers("duration"), found.numbers("age")
    rows = []
    for (name,), good in found.numbers("success").items():
        state, reason = _state(bool(good), why.get(name), age.get((name,)))
        rows.append(SourceRow(name, state, reason, seconds.get((name,))))
    return sorted(rows, key=lambda row: (ORDER.index(row.state), row.source))


def _state(
    good: bool, outcome: tuple[str, str] | None, age: float | None
) -> tuple[Literal["ok", "unavailable", "error", "stale"], str]:
    if outcome and not good:
        return ("unavailable" if outcome[0] == "unavailable" else "error"), outcome[1]
    if not good:
        return "unavailable", WITHOUT
    if age is not None and age > STALE_SECONDS:
        return "stale", f"last read {age:.0f} s ago"
    return "ok", ""


def build_nodes_page(snapshot: Snapshot, redactor: Redactor) -> NodesPage:
    """Return all nodes in a row each."""
    rows, incidents = NodeRows(snapshot), IncidentRows(snapshot, redactor).all()
    about: dict[str, int] = {}
    for row in incidents:
        for node in row.nodes if row.until_ms is None else ():
            about[node] = about.get(node, 0) + 1
    nodes = [
        rows.extend(
            ListedNode,
            name,
            gpus=len(snapshot.on_node[name]),
            present=sum(snapshot.present(card.place) for card in snapshot.on_node[name]),
            incidents=about.get(name, 0),
            version=snapshot.nodes[name].version,
            missing=snapshot.nodes[name].missing,
        )
        for name in sorted(snapshot.nodes)
    ]
    return NodesPage(snapshot.at_ms, _nodes_verdict(nodes, snapshot.missing), nodes)


def _nodes_verdict(nodes: list[ListedNode], missing: str) -> Verdict:
    if not nodes:
        why = f" ({missing})" if missing else ""
        return build_verdict(
            UNKNOWN, f"No node has been heard yet{why}: `vigie nodes join` prints the line to paste."
        )
    away = [row.name for row in nodes if row.state != "up"]
    drained = [row.name for row in nodes if row.slurm and row.slurm.state.startswith("drain")]
    state = CRITICAL if any(row.state == "lost" for row in nodes) else WARNING if away else OK
    return build_verdict(
        state,
        f"{len(nodes) - len(away)} of {pluralize(len(nodes), 'node')} up.",
        f"Not heard: {join_words(away)}." if away else "",
        f"Drained: {join_words(drained)}." if drained else "",
    )


def node_queries(name: str) -> dict[str, BatchQuery]:
    """Return what has to be asked about a node beside what a snapshot has."""
    here = label_matcher("instance", name)
    ours = f'{here},job="node"'
    return {
        "boot": BatchQuery(f"node_boot_time_seconds{{{here}}}", ()),
        "model": BatchQuery(f"node_dmi_info{{{here}}}", ("system_vendor", "product_name")),
        "kernel": BatchQuery(f"node_uname_info{{{here}}}", ("release", "machine")),
        "agent": BatchQuery(f"vigie_agent_build_info{{{ours}}}", ("version",)),
        "agent_cpu": BatchQuery(f"rate(process_cpu_seconds_total{{{ours}}}[5m])", ()),
        "agent_rss": BatchQuery(f"process_resident_memory_bytes{{{ours}}}", ()),
        "load": BatchQuery(f"node_load1{{{here}}}", ()),
        "memory_bytes": BatchQuery(f"node_memory_MemTotal_bytes{{{here}}}", ()),
        "gpu_processes": BatchQuery(f"vigie_gpu_process_memory_bytes{{{here}}}", ("gpu", "pid")),
        **source_queries(here),
    }


async def build_node_page(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, name: str
) -> NodePage:
    found = await snapshots.runner.run(node_queries(name), snapshot.at_ms)
    incidents = IncidentRows(snapshot, redactor).all(lambda incident: name in incident.nodes)
    cells = GpuCells(snapshot, redactor)
    mine = [cells.build(card.place) for card in snapshot.on_node[name]]
    jobs = [job for job in snapshot.running() if name in job.nodes]
    rows = JobRows(snapshot, redactor)
    return NodePage(
        at_ms=snapshot.at_ms,
        verdict=_verdict(snapshot, name, mine, incidents),
        numbers=_numbers(snapshot, name, mine, found),
        node=_details(snapshot, name, found),
        cells=mine,
        who=NodeHolders(
            [rows.build(job) for job in jobs],
            _holders(snapshot, redactor, name, "container"),
            _holders(snapshot, redactor, name, "environment"),
            _processes(found),
        ),
        sources=build_sources(found),
        incidents=incidents,
        unfinished=snapshot.unfinished,
    )


def _verdict(snapshot: Snapshot, name: str, cells: list[GpuCell], incidents: list[IncidentRow]) -> Verdict:
    row = NodeRows(snapshot).build(name)
    if row.state != "up":
        bad = CRITICAL if row.state == "lost" else UNKNOWN
        return build_verdict(bad, f"{name} is {row.state}: {row.why or 'nothing is heard'}.")
    state, sentence = summarize_incidents(incidents)
    worst = next((one.summary for one in incidents if one.until_ms is None), "")
    held = sum(cell.holder is not None for cell in cells)
    working = sum(cell.working is True for cell in cells)
    gpus = f"{held} of {pluralize(len(cells), 'GPU')} held, {working} working." if cells else "It has no GPU."
    slurm = row.slurm
    drained = f"Slurm says {slurm.state}." if slurm and slurm.state.startswith(("drain", "down")) else ""
    return build_verdict(state, worst or sentence.replace("Nothing needs you.", "It is well."), drained, gpus)


def _numbers(snapshot: Snapshot, name: str, cells: list[GpuCell], found: BatchResult) -> list[Stat]:
    here = label_matcher("instance", name)
    power = [cell.power for cell in cells if cell.power is not None]
    hot = [cell.temperature for cell in cells if cell.temperature is not None]
    no_gpu = "" if cells else "no GPU is seen on this node"
    known = [cell.working for cell in cells if cell.working is not None]
    working = sum(known) if known else None
    no_rate = NO_RATE if snapshot.is_up(name) else SILENT
    busy = f'1 - avg(rate(node_cpu_seconds_total{{{here},mode="idle"}}[2m]))'
    used = f"1 - node_memory_MemAvailable_bytes{{{here}}} / node_memory_MemTotal_bytes{{{here}}}"
    return [
        build_stat("cpu", "CPU", snapshot.number("cpu", name), "ratio", query=busy, reason=no_rate),
        build_stat("memory", "Memory", snapshot.number("ram", name), "ratio", query=used, reason=SILENT),
        build_stat("load", "Load", _only(found, "load"), query=f"node_load1{{{here}}}", reason=SILENT),
        build_stat("working", "GPUs working", working, of=len(cells) or None, reason=no_gpu or SILENT),
        build_stat(
            "power",
            "GPU power",
            sum(power) if power else None,
            "watts",
            query=f"sum(vigie_gpu_power_watts{{{here}}})",
            reason=no_gpu or SILENT,
        ),
        build_stat(
            "temperature",
            "Hottest GPU",
            max(hot, default=None),
            "celsius",
            query=f"max(vigie_gpu_temperature_celsius{{{here}}})",
            reason=no_gpu or SILENT,
        ),
    ]


def _details(snapshot: Snapshot, name: str, found: BatchResult) -> NodeDetails:
    node = snapshot.nodes[name]
    boot = _only(found, "boot")
    cards = snapshot.on_node[name]
    return NodeRows(snapshot).extend(
        NodeDetails,
        name,
        uptime_seconds=None if boot is None else max(snapshot.at_ms / 1000 - boot, 0),
        model=" ".join(_words(found, "model")),
        gpu_model=cards[0].model if cards else node.inventory.get("gpu_model", ""),
        driver=cards[0].driver if cards else node.inventory.get("driver", ""),
        kernel=(_words(found, "kernel") or [node.inventory.get("kernel", "")])[0],
        agent=AgentUsage(
            node.version or "".join(_words(found, "agent")),
            _only(found, "agent_cpu"),
            _only(found, "agent_rss"),
        ),
        addresses=node.addresses,
        last_seen_ms=node.last_seen_ms or None,
        inventory=node.inventory,
        expected=node.expected,
        missing=node.missing,
    )


def _holders(snapshot: Snapshot, redactor: Redactor, name: str, kind: str) -> list[NodeHolder]:
    """Return the containers or environments on a node, each with what it holds."""
    holders: dict[str, NodeHolder] = {}
    for stored in snapshot.bindings:
        if stored.node == name and stored.binding.holder_kind == kind:
            row = redactor.binding(stored)
            holder, image = row["holder"], row["facts"].get("image", "")
            first = NodeHolder(holder, row["user"], row["from_ms"], image, [])
            holders.setdefault(holder, first).gpus.extend(filter(None, [row["gpu"]]))
    return sorted(holders.values(), key=lambda holder: holder.name)


def _processes(found: BatchResult) -> list[ProcessRow]:
    rows = sorted(found.rows.get("gpu_processes", ()), key=lambda row: -row.value)
    return [ProcessRow(row.labels[0], row.labels[1], row.value) for row in rows[:MAX_PROCESSES]]


def _only(found: BatchResult, name: str) -> float | None:
    rows = found.rows.get(name, [])
    return rows[0].value if rows else None


def _words(found: BatchResult, name: str) -> list[str]:
    rows = found.rows.get(name, [])
    return [word for word in rows[0].labels if word] if rows else []
