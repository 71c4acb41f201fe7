"""The Nodes page and the Node page: whether a node is healthy, who is on it, and what limits it."""

from __future__ import annotations

from typing import Any

from vigie.server.outlook.asking import Ask, Found
from vigie.server.outlook.attention import Attention
from vigie.server.outlook.cells import Cells
from vigie.server.outlook.cluster import needs
from vigie.server.outlook.job_rows import JobRows
from vigie.server.outlook.node_rows import NodeRows
from vigie.server.outlook.outlook import Outlook
from vigie.server.outlook.picture import Picture
from vigie.server.outlook.seen import Seen
from vigie.server.outlook.selecting import label_matcher
from vigie.server.outlook.shapes import CRITICAL, OK, UNKNOWN, WARNING, number, verdict
from vigie.server.outlook.sources import source_asks, sources
from vigie.server.outlook.words import counted, listed

MOST_PROCESSES = 50
SILENT = "the node does not say so at this moment"
NO_RATE = "it takes two readings within two minutes"


def nodes_page(picture: Picture, seen: Seen) -> dict[str, Any]:
    """Return all nodes in a row each."""
    rows, attention = NodeRows(picture), Attention(picture, seen).all()
    about: dict[str, int] = {}
    for row in attention:
        for node in row["nodes"] if row["until_ms"] is None else ():
            about[node] = about.get(node, 0) + 1
    nodes = [
        {
            **rows.of(name),
            "gpus": len(picture.on_node[name]),
            "present": sum(picture.present(card.place) for card in picture.on_node[name]),
            "attention": about.get(name, 0),
            "version": picture.nodes[name].version,
            "missing": picture.nodes[name].missing,
        }
        for name in sorted(picture.nodes)
    ]
    return {"at_ms": picture.at_ms, "verdict": _nodes_verdict(nodes, picture.missing), "nodes": nodes}


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
        f"{len(nodes) - len(away)} of {counted(len(nodes), 'node')} up.",
        f"Not heard: {listed(away)}." if away else "",
        f"Drained: {listed(drained)}." if drained else "",
    )


def node_asks(name: str) -> dict[str, Ask]:
    """Return what has to be asked about a node beside what a picture has."""
    here = label_matcher("instance", name)
    ours = f'{here},job="node"'
    return {
        "boot": Ask(f"node_boot_time_seconds{{{here}}}", ()),
        "model": Ask(f"node_dmi_info{{{here}}}", ("system_vendor", "product_name")),
        "kernel": Ask(f"node_uname_info{{{here}}}", ("release", "machine")),
        "agent": Ask(f"vigie_agent_build_info{{{ours}}}", ("version",)),
        "agent_cpu": Ask(f"rate(process_cpu_seconds_total{{{ours}}}[5m])", ()),
        "agent_rss": Ask(f"process_resident_memory_bytes{{{ours}}}", ()),
        "load": Ask(f"node_load1{{{here}}}", ()),
        "memory_bytes": Ask(f"node_memory_MemTotal_bytes{{{here}}}", ()),
        "gpu_processes": Ask(f"vigie_gpu_process_memory_bytes{{{here}}}", ("gpu", "pid")),
        **source_asks(here),
    }


async def node_page(outlook: Outlook, picture: Picture, seen: Seen, name: str) -> dict[str, Any]:
    """Return the page of a node."""
    found = await outlook.asker.ask(node_asks(name), picture.at_ms)
    attention = Attention(picture, seen).all(lambda trouble: name in trouble.nodes)
    cells = Cells(picture, seen)
    mine = [cells.of(card.place) for card in picture.on_node[name]]
    jobs = [job for job in picture.running() if name in job.nodes]
    rows = JobRows(picture, seen)
    return {
        "at_ms": picture.at_ms,
        "verdict": _verdict(picture, name, mine, attention),
        "numbers": _numbers(picture, name, mine, found),
        "node": _facts(picture, name, found),
        "cells": mine,
        "who": {
            "jobs": [rows.of(job) for job in jobs],
            "containers": _held(picture, seen, name, "container"),
            "environments": _held(picture, seen, name, "environment"),
            "processes": _processes(found),
        },
        "sources": sources(found),
        "attention": attention,
    }


def _verdict(
    picture: Picture, name: str, cells: list[dict[str, Any]], attention: list[dict[str, Any]]
) -> dict[str, str]:
    row = NodeRows(picture).of(name)
    if row["state"] != "up":
        bad = CRITICAL if row["state"] == "lost" else UNKNOWN
        return verdict(bad, f"{name} is {row['state']}: {row['why'] or 'nothing is heard'}.")
    state, sentence = needs(attention)
    worst = next((one["what"] for one in attention if one["until_ms"] is None), "")
    held = sum(cell["holder"] is not None for cell in cells)
    working = sum(cell["working"] is True for cell in cells)
    gpus = f"{held} of {counted(len(cells), 'GPU')} held, {working} working." if cells else "It has no GPU."
    slurm = row["slurm"]
    drained = (
        f"Slurm says {slurm['state']}." if slurm and slurm["state"].startswith(("drain", "down")) else ""
    )
    return verdict(state, worst or sentence.replace("Nothing needs you.", "It is well."), drained, gpus)


def _numbers(picture: Picture, name: str, cells: list[dict[str, Any]], found: Found) -> list[dict[str, Any]]:
    here = label_matcher("instance", name)
    power = [cell["power"] for cell in cells if cell["power"] is not None]
    hot = [cell["temperature"] for cell in cells if cell["temperature"] is not None]
    no_gpu = "" if cells else "no GPU is seen on this node"
    known = [cell["working"] for cell in cells if cell["working"] is not None]
    working = sum(known) if known else None
    no_rate = NO_RATE if picture.is_up(name) else SILENT
    busy = f'1 - avg(rate(node_cpu_seconds_total{{{here},mode="idle"}}[2m]))'
    used = f"1 - node_memory_MemAvailable_bytes{{{here}}} / node_memory_MemTotal_bytes{{{here}}}"
    return [
        number("cpu", "CPU", picture.number("cpu", name), "ratio", query=busy, reason=no_rate),
        number("memory", "Memory", picture.number("ram", name), "ratio", query=used, reason=SILENT),
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


def _facts(picture: Picture, name: str, found: Found) -> dict[str, Any]:
    node, row = picture.nodes[name], NodeRows(picture).of(name)
    boot = _only(found, "boot")
    cards = picture.on_node[name]
    return {
        **row,
        "uptime_seconds": None if boot is None else max(picture.at_ms / 1000 - boot, 0),
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


def _held(picture: Picture, seen: Seen, name: str, kind: str) -> list[dict[str, Any]]:
    """Return the containers or environments on a node, each with what it holds."""
    rows: dict[str, dict[str, Any]] = {}
    for kept in picture.bindings:
        if kept.node == name and kept.binding.holder_kind == kind:
            told = seen.binding(kept)
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


def _processes(found: Found) -> list[dict[str, Any]]:
    rows = sorted(found.rows.get("gpu_processes", ()), key=lambda row: -row.value)
    return [
        {"gpu": row.labels[0], "pid": row.labels[1], "gpu_memory_bytes": row.value}
        for row in rows[:MOST_PROCESSES]
    ]


def _only(found: Found, name: str) -> float | None:
    rows = found.rows.get(name, [])
    return rows[0].value if rows else None


def _words(found: Found, name: str) -> list[str]:
    rows = found.rows.get(name, [])
    return [word for word in rows[0].labels if word] if rows else []
