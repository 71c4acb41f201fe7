"""The Nodes page and the Node page: whether a node is healthy, who is on it, and what limits it."""

from __future__ import annotations

from typing import Any

from vigie.server.pages.cluster_page import summarize_incidents
from vigie.server.pages.gpu_map import GpuCells
from vigie.server.pages.humanize import join_words, pluralize
from vigie.server.pages.incident_rows import IncidentRows
from vigie.server.pages.queries import label_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult
from vigie.server.pages.rows import JobRows, NodeRows
from vigie.server.pages.snapshot import Snapshot
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.widgets import CRITICAL, OK, UNKNOWN, WARNING, number, verdict
from vigie.server.privacy.redactor import Redactor

STALE_SECONDS = 300.0
ORDER = ("error", "stale", "ok", "unavailable")
AGENTS = 'job="node"'  # a node exporter beside one tells the same of its own
WITHOUT = "there is nothing of this kind on this machine"
MOST_PROCESSES = 50
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


def sources(found: BatchResult) -> list[dict[str, Any]]:
    """Return each source, its state with the reason, and what its last read cost; trouble first."""
    why = {row.labels[0]: (row.labels[1], row.labels[2]) for row in found.rows.get("outcome", ())}
    seconds, age = found.numbers("duration"), found.numbers("age")
    rows = []
    for (name,), good in found.numbers("success").items():
        state, reason = _state(bool(good), why.get(name), age.get((name,)))
        rows.append({"source": name, "state": state, "reason": reason, "seconds": seconds.get((name,))})
    return sorted(rows, key=lambda row: (ORDER.index(str(row["state"])), str(row["source"])))


def _state(good: bool, said: tuple[str, str] | None, age: float | None) -> tuple[str, str]:
    if said and not good:
        return ("unavailable" if said[0] == "unavailable" else "error"), said[1]
    if not good:
        return "unavailable", WITHOUT
    if age is not None and age > STALE_SECONDS:
        return "stale", f"last read {age:.0f} s ago"
    return "ok", ""


def nodes_page(snapshot: Snapshot, redactor: Redactor) -> dict[str, Any]:
    """Return all nodes in a row each."""
    rows, incidents = NodeRows(snapshot), IncidentRows(snapshot, redactor).all()
    about: dict[str, int] = {}
    for row in incidents:
        for node in row["nodes"] if row["until_ms"] is None else ():
            about[node] = about.get(node, 0) + 1
    nodes = [
        {
            **rows.of(name),
            "gpus": len(snapshot.on_node[name]),
            "present": sum(snapshot.present(card.place) for card in snapshot.on_node[name]),
            "incidents": about.get(name, 0),
            "version": snapshot.nodes[name].version,
            "missing": snapshot.nodes[name].missing,
        }
        for name in sorted(snapshot.nodes)
    ]
    return {"at_ms": snapshot.at_ms, "verdict": _nodes_verdict(nodes, snapshot.missing), "nodes": nodes}


def _nodes_verdict(nodes: list[dict[str, Any]], missing: str) -> dict[str, str]:
    if not nodes:
        why = f" ({missing})" if missing else ""
        return verdict(
            UNKNOWN, f"No node has been heard yet{why}: `vigie nodes join` prints the line to paste."
        )
    away = [row["name"] for row in nodes if row["state"] != "up"]
    drained = [row["name"] for row in nodes if row["slurm"] and row["slurm"]["state"].startswith("drain")]
    state = CRITICAL if any(row["state"] == "lost" for row in nodes) else WARNING if away else OK
    return verdict(
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


async def node_page(
    snapshots: SnapshotCache, snapshot: Snapshot, redactor: Redactor, name: str
) -> dict[str, Any]:
    found = await snapshots.asker.ask(node_queries(name), snapshot.at_ms)
    incidents = IncidentRows(snapshot, redactor).all(lambda incident: name in incident.nodes)
    cells = GpuCells(snapshot, redactor)
    mine = [cells.of(card.place) for card in snapshot.on_node[name]]
    jobs = [job for job in snapshot.running() if name in job.nodes]
    rows = JobRows(snapshot, redactor)
    return {
        "at_ms": snapshot.at_ms,
        "verdict": _verdict(snapshot, name, mine, incidents),
        "numbers": _numbers(snapshot, name, mine, found),
        "node": _facts(snapshot, name, found),
        "cells": mine,
        "who": {
            "jobs": [rows.of(job) for job in jobs],
            "containers": _held(snapshot, redactor, name, "container"),
            "environments": _held(snapshot, redactor, name, "environment"),
            "processes": _processes(found),
        },
        "sources": sources(found),
        "incidents": incidents,
    }


def _verdict(
    snapshot: Snapshot, name: str, cells: list[dict[str, Any]], incidents: list[dict[str, Any]]
) -> dict[str, str]:
    row = NodeRows(snapshot).of(name)
    if row["state"] != "up":
        bad = CRITICAL if row["state"] == "lost" else UNKNOWN
        return verdict(bad, f"{name} is {row['state']}: {row['why'] or 'nothing is heard'}.")
    state, sentence = summarize_incidents(incidents)
    worst = next((one["summary"] for one in incidents if one["until_ms"] is None), "")
    held = sum(cell["holder"] is not None for cell in cells)
    working = sum(cell["working"] is True for cell in cells)
    gpus = f"{held} of {pluralize(len(cells), 'GPU')} held, {working} working." if cells else "It has no GPU."
    slurm = row["slurm"]
    drained = (
        f"Slurm says {slurm['state']}." if slurm and slurm["state"].startswith(("drain", "down")) else ""
    )
    return verdict(state, worst or sentence.replace("Nothing needs you.", "It is well."), drained, gpus)


def _numbers(
    snapshot: Snapshot, name: str, cells: list[dict[str, Any]], found: BatchResult
) -> list[dict[str, Any]]:
    here = label_matcher("instance", name)
    power = [cell["power"] for cell in cells if cell["power"] is not None]
    hot = [cell["temperature"] for cell in cells if cell["temperature"] is not None]
    no_gpu = "" if cells else "no GPU is seen on this node"
    known = [cell["working"] for cell in cells if cell["working"] is not None]
    working = sum(known) if known else None
    no_rate = NO_RATE if snapshot.is_up(name) else SILENT
    busy = f'1 - avg(rate(node_cpu_seconds_total{{{here},mode="idle"}}[2m]))'
    used = f"1 - node_memory_MemAvailable_bytes{{{here}}} / node_memory_MemTotal_bytes{{{here}}}"
    return [
        number("cpu", "CPU", snapshot.number("cpu", name), "ratio", query=busy, reason=no_rate),
        number("memory", "Memory", snapshot.number("ram", name), "ratio", query=used, reason=SILENT),
        number("load", "Load", _only(found, "load"), query=f"node_load1{{{here}}}", reason=SILENT),
        number("working", "GPUs working", working, of=len(cells) or None, reason=no_gpu or SILENT),
        number(
            "power",
            "GPU power",
            sum(power) if power else None,
            "watts",
            query=f"sum(vigie_gpu_power_watts{{{here}}})",
            reason=no_gpu or SILENT,
        ),
        number(
            "temperature",
            "Hottest GPU",
            max(hot, default=None),
            "celsius",
            query=f"max(vigie_gpu_temperature_celsius{{{here}}})",
            reason=no_gpu or SILENT,
        ),
    ]


def _facts(snapshot: Snapshot, name: str, found: BatchResult) -> dict[str, Any]:
    node, row = snapshot.nodes[name], NodeRows(snapshot).of(name)
    boot = _only(found, "boot")
    cards = snapshot.on_node[name]
    return {
        **row,
        "uptime_seconds": None if boot is None else max(snapshot.at_ms / 1000 - boot, 0),
        "model": " ".join(_words(found, "model")),
        "gpu_model": cards[0].model if cards else node.inventory.get("gpu_model", ""),
        "driver": cards[0].driver if cards else node.inventory.get("driver", ""),
        "kernel": (_words(found, "kernel") or [node.inventory.get("kernel", "")])[0],
        "agent": {
            "version": node.version or "".join(_words(found, "agent")),
            "cpu_ratio": _only(found, "agent_cpu"),
            "rss_bytes": _only(found, "agent_rss"),
        },
        "addresses": node.addresses,
        "last_seen_ms": node.last_seen_ms or None,
        "inventory": node.inventory,
        "expected": node.expected,
        "missing": node.missing,
    }


def _held(snapshot: Snapshot, redactor: Redactor, name: str, kind: str) -> list[dict[str, Any]]:
    """Return the containers or environments on a node, each with what it holds."""
    rows: dict[str, dict[str, Any]] = {}
    for kept in snapshot.bindings:
        if kept.node == name and kept.binding.holder_kind == kind:
            told = redactor.binding(kept)
            row = rows.setdefault(
                told["holder"],
                {
                    "name": told["holder"],
                    "user": told["user"],
                    "from_ms": told["from_ms"],
                    "image": told["facts"].get("image", ""),
                    "gpus": [],
                },
            )
            row["gpus"] += [told["gpu"]] if told["gpu"] else []
    return sorted(rows.values(), key=lambda row: str(row["name"]))


def _processes(found: BatchResult) -> list[dict[str, Any]]:
    rows = sorted(found.rows.get("gpu_processes", ()), key=lambda row: -row.value)
    return [
        {"gpu": row.labels[0], "pid": row.labels[1], "gpu_memory_bytes": row.value}
        for row in rows[:MOST_PROCESSES]
    ]


def _only(found: BatchResult, name: str) -> float | None:
    rows = found.rows.get(name, [])
    return rows[0].value if rows else None


def _words(found: BatchResult, name: str) -> list[str]:
    rows = found.rows.get(name, [])
    return [word for word in rows[0].labels if word] if rows else []
