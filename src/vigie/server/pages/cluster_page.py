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

    def __init__(self, picture: Snapshot) -> None:
        places = list(picture.cards)
        there = [place for place in places if picture.present(place)]
        held = [place for place in places if picture.held.get(place)]
        self.known, self.present, self.held = len(places), len(there), len(held)
        self.working = sum(picture.working(place) is True for place in there)
        self.idle = sum(picture.idle(place) is True for place in held)
        expected = [int(node.expected.get("gpus", 0) or 0) for node in picture.nodes.values()]
        self.expected = max(sum(expected), len(places))
        self.measured = any(picture.all("busy_5m"))

    @property
    def sentence(self) -> str:
        if not self.expected:
            return "No GPU here."
        return (
            f"{self.held} of {pluralize(self.expected, 'GPU')} held, {self.working} working, "
            f"{self.idle} held but idle."
        )


def cluster_page(picture: Snapshot, seen: Redactor, *, simulated: bool) -> dict[str, Any]:
    cells, jobs, nodes = GpuCells(picture, seen), JobRows(picture, seen), NodeRows(picture)
    attention = IncidentRows(picture, seen).all()
    return {
        "at_ms": picture.at_ms,
        "simulated": simulated,
        "verdict": _verdict(picture, attention),
        "numbers": _numbers(picture),
        "attention": attention[:MOST],
        "attention_more": max(len(attention) - MOST, 0),
        "nodes": [
            {**nodes.of(name), "cells": [cells.of(card.place) for card in picture.on_node[name]]}
            for name in sorted(picture.nodes)
        ],
        "jobs": [jobs.of(job) for job in picture.running()[:MOST_JOBS]],
        "waiting": [jobs.of(job) for job in picture.waiting()[:MOST_JOBS]],
        "missing": picture.missing,
        "errors": picture.errors,
    }


def attention_text(attention: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the state that open incidents leave things in, and the sentence that counts them."""
    urgent = [row for row in attention if row["until_ms"] is None and row["severity"] != "info"]
    if not urgent:
        return OK, "Nothing needs you."
    worst = CRITICAL if any(row["severity"] == "critical" for row in urgent) else WARNING
    return worst, f"{pluralize(len(urgent), 'thing')} need{'s' if len(urgent) == 1 else ''} you."


def _verdict(picture: Snapshot, attention: list[dict[str, Any]]) -> dict[str, str]:
    if not picture.nodes:
        why = f" ({picture.missing})" if picture.missing else ""
        return verdict(
            UNKNOWN, f"No node has been heard yet{why}: `vigie nodes join` prints the line to paste."
        )
    state, sentence = attention_text(attention)
    usage = Usage(picture)
    if usage.expected:
        return verdict(state, sentence, usage.sentence)
    up = sum(picture.node_state(name) == "up" for name in picture.nodes)
    return verdict(state, sentence, f"{up} of {pluralize(len(picture.nodes), 'node')} up, none with a GPU.")


def _numbers(picture: Snapshot) -> list[dict[str, Any]]:
    usage, waiting = Usage(picture), picture.waiting()
    power = list(picture.all("power").values())
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
    wait = f", oldest {format_duration(picture.at_ms - oldest)}" if oldest is not None else ""
    return [
        present,
        of_gpus("held", "Held", usage.held, queries.HELD),
        of_gpus("working", "Working", usage.working, queries.WORKING_LINE, reason=absent),
        idle,
        number(
            "jobs",
            f"Jobs running, {len(waiting)} waiting{wait}",
            None if picture.missing else len(picture.running()),
            query=queries.RUNNING_LINE,
            reason=picture.missing,
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
