"""Answers of a server as its page routes give them, made by hand."""

from __future__ import annotations

from typing import Any

NOW = 1_794_808_800_000
HOUR = 3_600_000


def cell(node: str, gpu: int, **other: Any) -> dict[str, Any]:
    """Return a GPU that is free and well."""
    made: dict[str, Any] = {"node": node, "gpu": str(gpu), "uuid": f"GPU-{node}-{gpu}", "model": "H100"}
    made |= {"vendor": "nvidia", "holder": None, "working": None, "busy": 0.0, "sm": None, "memory": 0.01}
    made |= {"memory_bytes": 0.8e9, "memory_total_bytes": 80e9}
    made |= {"power": 70.0, "power_limit": 700.0, "temperature": 32.0, "clock": 1.98e9, "throttled": []}
    return made | {"health": "ok", "why": "", "mig": []} | other


def held(node: str, gpu: int, job: str, user: str, **other: Any) -> dict[str, Any]:
    """Return a GPU on which a job works."""
    holder = {"kind": "job", "id": job, "name": f"train-{job}", "user": user}
    busy: dict[str, Any] = {"holder": holder, "working": True, "busy": 0.97, "sm": 0.6, "memory": 0.8}
    return cell(node, gpu, **{**busy, "power": 640.0, "temperature": 66.0, **other})


def job(number: str, gpus: list[str], **other: Any) -> dict[str, Any]:
    """Return a job that runs."""
    nodes = sorted({gpu.partition(":")[0] for gpu in gpus})
    count = len(gpus)
    made: dict[str, Any] = {"id": number, "name": f"train-{number}", "user": "ada", "account": "lab"}
    made |= {"partition": "train", "state": "running", "reason": "", "queued_ms": NOW - 3 * HOUR}
    made |= {"start_ms": NOW - 2 * HOUR, "end_ms": None, "limit_seconds": 86400, "nodes": nodes, "gpus": gpus}
    ladder = {"held": count, "process": count, "busy": count * 0.9, "sm": count * 0.5, "tensor": None}
    return made | {"ladder": ladder, "wanted_gpus": count, "badge": "", "why": ""} | other


def incident(**other: Any) -> dict[str, Any]:
    """Return a GPU that has fallen off the bus."""
    made: dict[str, Any] = {"id": "xid:gpu02:3", "finding": "gpu_lost", "severity": "critical"}
    made |= {"summary": "the GPU fell off the bus (XID 79)", "where": {"node": "gpu02", "gpu": "3"}}
    made |= {"title": "the GPU fell off the bus (XID 79)", "nodes": ["gpu02"]}
    made |= {"since_ms": NOW - 600_000, "until_ms": None, "link": "gpu/gpu02/3?at=1794808200000"}
    affects = {"jobs": [{"id": "2", "name": "train-2"}], "users": ["bob"], "gpus": 1}
    return made | {"affects": affects, "action": "check the card's seating, then reboot gpu02"} | other


def node(name: str, cells: list[dict[str, Any]], **other: Any) -> dict[str, Any]:
    """Return a node that is up."""
    made: dict[str, Any] = {"name": name, "state": "up", "why": "", "labels": {"rack": "r1"}, "slurm": None}
    return made | {"cpu": 0.31, "memory": 0.5, "cells": cells} | other


def stat(key: str, label: str, value: float | None, **other: Any) -> dict[str, Any]:
    made = {"key": key, "label": label, "value": value, "of": None, "unit": "count", "state": "ok"}
    return made | {"query": "", "reason": ""} | other


def cluster() -> dict[str, Any]:
    """Return two busy nodes, an idle job, a lost GPU, a node without GPUs, and a job that waits."""
    first = [held("gpu01", n, "1", "ada") for n in range(8)]
    second = [held("gpu02", n, "2", "bob", working=False, busy=0.0, sm=0.0) for n in range(4)]
    second[3] |= {"health": "lost", "why": "fell off the bus"}
    second += [cell("gpu02", n) for n in range(4, 8)]
    names = [f"gpu01:{n}" for n in range(8)]
    idle = job("2", [f"gpu02:{n}" for n in range(4)], user="bob", badge="idle", why="held, but nothing runs")
    return {
        "at_ms": NOW,
        "simulated": True,
        "verdict": {"state": "critical", "sentence": "1 thing needs you. 12 of 16 GPUs held, 8 working."},
        "numbers": [
            stat("gpus", "GPUs", 15, of=16, state="warning"),
            stat("held", "held", 12),
            stat("power", "power", None, unit="watts", reason="no source"),
        ],
        "incidents": [incident()],
        "unfinished": False,
        "incidents_more": 0,
        "missing": "",
        "errors": {},
        "nodes": [node("gpu01", first), node("gpu02", second), node("cpu01", [], cpu=0.9, state="late")],
        "jobs": [job("1", names), idle],
        "waiting": [job("3", [], state="waiting", reason="Priority", start_ms=None, wanted_gpus=64)],
    }


def events_page() -> dict[str, Any]:
    """Return what was found: nine things that last, and one that is over."""
    ended = incident(id="flap:gpu01", title="a link flapped", where={"node": "gpu01"}, until_ms=NOW - HOUR)
    open_ones = [incident(id=f"xid:gpu02:{n}", where={"node": "gpu02", "gpu": str(n)}) for n in range(9)]
    said = {"state": "critical", "sentence": "9 things need you."}
    return {"at_ms": NOW, "verdict": said, "incidents": [*open_ones, ended], "unfinished": False}


def node_page() -> dict[str, Any]:
    """Return the page of the node with the lost GPU."""
    given = cluster()
    about = node("gpu02", [], uptime_seconds=90_000, model="X640", driver="550.54", missing=["gpu 3"])
    about |= {"gpu_model": "H100", "kernel": "6.1", "addresses": [], "last_seen_ms": NOW}
    agent = {"version": "0.1.0", "cpu_ratio": None, "rss_bytes": 30_000_000}
    return {
        "at_ms": NOW,
        "verdict": {"state": "critical", "sentence": "One GPU does not answer."},
        "numbers": [],
        "node": {**about, "agent": agent, "inventory": {}, "expected": {}},
        "cells": given["nodes"][1]["cells"],
        "who": {
            "jobs": [given["jobs"][1]],
            "containers": [],
            "environments": [],
            "processes": [{"gpu": "0", "pid": "7", "gpu_memory_bytes": 1e9}],
        },
        "sources": [
            {"source": "rapl", "state": "unavailable", "reason": "only root may read it", "seconds": 0}
        ],
        "incidents": given["incidents"],
        "unfinished": False,
    }


def gpu_page() -> dict[str, Any]:
    """Return the page of the lost GPU."""
    cells = cluster()["nodes"][1]["cells"]
    card = {name: cells[3][name] for name in ("node", "gpu", "uuid", "model", "vendor")}
    holder = {
        "kind": "job",
        "id": "2",
        "name": "train-2",
        "user": "bob",
        "from_ms": NOW - HOUR,
        "to_ms": None,
    }
    xid = {"id": 1, "node": "gpu02", "kind": "xid", "begin_ms": NOW - 600_000, "end_ms": None}
    xid |= {"what": "XID 79, fallen off the bus", "where": {}, "severity": "critical"}
    fact = {"label": "remapped rows", "value": 2, "unit": "count", "state": "warning", "why": "after a reset"}
    return {
        "at_ms": NOW,
        "verdict": {"state": "critical", "sentence": "It does not answer."},
        "numbers": [],
        "cell": cells[3],
        "info": {**card, "driver": "550.54", "pci_bus_id": "0000:17:00.0", "processes": 1},
        "holders": [holder],
        "health": {"xids": [xid], "facts": [fact]},
        "siblings": cells[:3],
        "ranks": [],
        "incidents": [incident()],
        "unfinished": False,
    }


def job_page() -> dict[str, Any]:
    """Return the page of a job with a slow rank."""
    absent = dict.fromkeys(("tensor", "memory", "power", "nvlink", "infiniband", "cpu"))
    alike: dict[str, Any] = {"node": "gpu01", "sm": 0.6, "clock": 1.98e9, "oddness": 0, "odd": [], **absent}
    ranks: list[dict[str, Any]] = [{**alike, "rank": n, "gpu": str(n)} for n in range(8)]
    ranks.insert(0, {**ranks.pop(5), "clock": 1.2e9, "odd": ["clock"]})
    return {
        "at_ms": NOW,
        "verdict": {"state": "warning", "sentence": "Rank 5 is slow."},
        "numbers": [],
        "job": cluster()["jobs"][0],
        "ladder": [{"step": "held", "key": "held", "gpus": 8, "lost_gpu_hours": None, "reason": ""}],
        "ranks": ranks,
        "medians": {"clock": 1.98e9},
        "incidents": [],
        "unfinished": False,
        "receipt": [],
        "free": None,
        "missing": "",
    }


def user_page() -> dict[str, Any]:
    """Return the page of somebody whose job is idle."""
    given = cluster()
    return {
        "at_ms": NOW,
        "verdict": {"state": "warning", "sentence": "4 GPUs are held and idle."},
        "numbers": [],
        "cells": given["nodes"][1]["cells"][:4],
        "idle": [{"summary": "job 2 holds 4 GPUs and uses none", "command": "scancel 2", "cells": []}],
        "jobs": [given["jobs"][1]],
        "days": [],
        "environments": [],
        "containers": [],
        "incidents": [],
        "unfinished": False,
    }
