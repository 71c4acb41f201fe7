"""The Cluster page: whether anything is broken, whether it is used, and by whom."""

from __future__ import annotations

from typing import Any

from vigie.server.pages import queries
from vigie.server.pages.gpu_map import GpuCells
from vigie.server.pages.humanize import format_duration, pluralize
from vigie.server.pages.incident_rows import MOST, IncidentRows
from vigie.server.pages.rows import JobRows, NodeRows
from vigie.server.pages.snapshot import Snapshot
from vigie.server.pages.widgets import CRITICAL, OK, UNKNOWN, WARNING, number, verdict
from vigie.server.privacy.redactor import Redactor

NO_GPUS = "no GPU has been seen on any node"
MOST_JOBS = 200


class Usage:
    """How many GPUs there are, are held, work and idle."""

    def __init__(self, snapshot: Snapshot) -> None:
        places = list(snapshot.cards)
        there = [place for place in places if snapshot.present(place)]
        held = [place for place in places if snapshot.held.get(place)]
        self.known, self.present, self.held = len(places), len(there), len(held)
        self.working = sum(snapshot.working(place) is True for place in there)
        self.idle = sum(snapshot.idle(place) is True for place in held)
        expected = [int(node.expected.get("gpus", 0) or 0) for node in snapshot.nodes.values()]
        self.expected = max(sum(expected), len(places))
        self.measured = any(snapshot.all("busy_5m"))

    @property
    def sentence(self) -> str:
        if not self.expected:
            return "No GPU here."
        return (
            f"{self.held} of {pluralize(self.expected, 'GPU')} held, {self.working} working, "
            f"{self.idle} held but idle."
        )


def cluster_page(snapshot: Snapshot, redactor: Redactor, *, simulated: bool) -> dict[str, Any]:
    cells, jobs, nodes = GpuCells(snapshot, redactor), JobRows(snapshot, redactor), NodeRows(snapshot)
    incidents = IncidentRows(snapshot, redactor).all()
    return {
        "at_ms": snapshot.at_ms,
        "simulated": simulated,
        "verdict": _verdict(snapshot, incidents),
        "numbers": _numbers(snapshot),
        "incidents": incidents[:MOST],
        "incidents_more": max(len(incidents) - MOST, 0),
        "nodes": [
            {**nodes.of(name), "cells": [cells.of(card.place) for card in snapshot.on_node[name]]}
            for name in sorted(snapshot.nodes)
        ],
        "jobs": [jobs.of(job) for job in snapshot.running()[:MOST_JOBS]],
        "waiting": [jobs.of(job) for job in snapshot.waiting()[:MOST_JOBS]],
        "missing": snapshot.missing,
        "errors": snapshot.errors,
    }


def summarize_incidents(incidents: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the state that open incidents leave things in, and the sentence that counts them."""
    urgent = [row for row in incidents if row["until_ms"] is None and row["severity"] != "info"]
    if not urgent:
        return OK, "Nothing needs you."
    worst = CRITICAL if any(row["severity"] == "critical" for row in urgent) else WARNING
    return worst, f"{pluralize(len(urgent), 'thing')} need{'s' if len(urgent) == 1 else ''} you."


def _verdict(snapshot: Snapshot, incidents: list[dict[str, Any]]) -> dict[str, str]:
    if not snapshot.nodes:
        why = f" ({snapshot.missing})" if snapshot.missing else ""
        return verdict(
            UNKNOWN, f"No node has been heard yet{why}: `vigie nodes join` prints the line to paste."
        )
    state, sentence = summarize_incidents(incidents)
    usage = Usage(snapshot)
    if usage.expected:
        return verdict(state, sentence, usage.sentence)
    up = sum(snapshot.node_state(name) == "up" for name in snapshot.nodes)
    return verdict(state, sentence, f"{up} of {pluralize(len(snapshot.nodes), 'node')} up, none with a GPU.")


def _numbers(snapshot: Snapshot) -> list[dict[str, Any]]:
    usage, waiting = Usage(snapshot), snapshot.waiting()
    power = list(snapshot.all("power").values())
    why = "" if usage.expected else NO_GPUS
    absent = why or ("" if usage.measured else "no source tells how busy the GPUs are")

    def of_gpus(key: str, label: str, value: int, query: str, *, reason: str = why) -> dict[str, Any]:
        shown = None if reason else value
        return number(key, label, shown, of=usage.expected or None, query=query, reason=reason)

    present = of_gpus("present", "GPUs present", usage.present, queries.PRESENT_LINE)
    if usage.present < usage.expected:
        present["state"] = WARNING
    idle = of_gpus("idle", "Held but idle", usage.idle, queries.IDLE_LINE, reason=absent)
    if usage.idle:
        idle["state"] = WARNING
    oldest = min((job.queued_ms or job.start_ms for job in waiting), default=None)
    wait = f", oldest {format_duration(snapshot.at_ms - oldest)}" if oldest is not None else ""
    return [
        present,
        of_gpus("held", "Held", usage.held, queries.HELD),
        of_gpus("working", "Working", usage.working, queries.WORKING_LINE, reason=absent),
        idle,
        number(
            "jobs",
            f"Jobs running, {len(waiting)} waiting{wait}",
            None if snapshot.missing else len(snapshot.running()),
            query=queries.RUNNING_LINE,
            reason=snapshot.missing,
        ),
        number(
            "power",
            "GPU power",
            sum(power) if power else None,
            "watts",
            query=queries.POWER_LINE,
            reason=why or "no GPU tells its power",
        ),
    ]
