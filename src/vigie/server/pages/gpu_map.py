"""A cell of the map: one GPU, who holds it, what it does, and how it is."""

from __future__ import annotations

from typing import Any

from vigie.findings.core.finding import RANK
from vigie.server.pages.snapshot import JOB, Place, Snapshot
from vigie.server.privacy.redactor import Redactor


class GpuCells:
    """Makes the cells of a snapshot as one caller sees them."""

    def __init__(self, snapshot: Snapshot, redactor: Redactor) -> None:
        self._snapshot, self._redactor = snapshot, redactor
        self._worst: dict[Place, tuple[str, str]] = {}
        for incident in snapshot.incidents:
            if incident.end_ms is None:
                for place in incident.gpus:
                    self._note(place, incident.severity, incident.finding.title)

    def of(self, place: Place) -> dict[str, Any]:
        snapshot, card = self._snapshot, self._snapshot.cards[place]
        health, why = self._health(place)
        used, total = (snapshot.number(name, *place) for name in ("memory", "memory_total"))
        return {
            "node": card.node,
            "gpu": card.gpu,
            "uuid": card.uuid,
            "model": card.model,
            "vendor": card.vendor,
            "holder": self.holder(place),
            "working": snapshot.working(place),
            "busy": snapshot.number("busy", *place),
            "sm": snapshot.number("sm", *place),
            "memory": used / total if used is not None and total else None,
            "memory_bytes": used,
            "memory_total_bytes": total,
            "power": snapshot.number("power", *place),
            "power_limit": snapshot.number("power_limit", *place),
            "temperature": snapshot.number("temperature", *place),
            "clock": snapshot.number("clock", *place),
            "throttled": sorted(reason for (reason,) in snapshot.states("throttled", place)),
            "health": health,
            "why": why,
            "mig": self._slices(place),
        }

    def holder(self, place: Place) -> dict[str, str] | None:
        """Return who holds a GPU: a job before its container or environment."""
        held = self._snapshot.held.get(place)
        if not held:
            return None
        first = min(held, key=lambda kept: (kept.binding.holder_kind != JOB, kept.binding.from_ms))
        row = self._redactor.binding(first)
        return {
            "kind": row["kind"],
            "id": row["holder"],
            "name": row["facts"].get("name", "") or row["holder"],
            "user": row["user"],
        }

    def _health(self, place: Place) -> tuple[str, str]:
        node = place[0]
        if not self._snapshot.present(place):
            state = self._snapshot.node_state(node)
            if state != "up":
                return "lost", f"nothing is heard of {node}"
            return "lost", "the GPU does not answer any more"
        severity, why = self._worst.get(place, ("info", ""))
        return ("ok" if severity == "info" else severity), why

    def _slices(self, place: Place) -> list[dict[str, Any]]:
        found = sorted(self._snapshot.states("mig", place))
        return [{"instance": number, "profile": profile, "holder": None} for number, profile in found]

    def _note(self, place: Place, severity: str, why: str) -> None:
        before = self._worst.get(place)
        if before is None or RANK[severity] > RANK[before[0]]:
            self._worst[place] = severity, why
