"""A cell of the map: one GPU, who holds it, what it does, and how it is."""

from __future__ import annotations

from typing import Literal, cast

from vigie.findings.core.finding import RANK
from vigie.server.pages.snapshot import JOB, Place, Snapshot
from vigie.server.privacy.redactor import Redactor
from vigie.wire.api.rows import GpuCell, Holder, MigSlice, Severity

Health = Literal["ok", "warning", "critical", "lost"]


class GpuCells:
    """Makes the cells of a snapshot as one caller sees them."""

    def __init__(self, snapshot: Snapshot, redactor: Redactor) -> None:
        self._snapshot, self._redactor = snapshot, redactor
        self._worst: dict[Place, tuple[Severity, str]] = {}
        for incident in snapshot.incidents:
            if incident.end_ms is None:
                for place in incident.gpus:
                    self._note(place, cast(Severity, incident.severity), incident.finding.title)

    def build(self, place: Place) -> GpuCell:
        snapshot, card = self._snapshot, self._snapshot.cards[place]
        health, why = self._health(place)
        used, total = (snapshot.number(name, *place) for name in ("memory", "memory_total"))
        return GpuCell(
            node=card.node,
            gpu=card.gpu,
            uuid=card.uuid,
            model=card.model,
            vendor=card.vendor,
            holder=self.find_holder(place),
            working=snapshot.working(place),
            busy=snapshot.number("busy", *place),
            sm=snapshot.number("sm", *place),
            memory=used / total if used is not None and total else None,
            memory_bytes=used,
            memory_total_bytes=total,
            power=snapshot.number("power", *place),
            power_limit=snapshot.number("power_limit", *place),
            temperature=snapshot.number("temperature", *place),
            clock=snapshot.number("clock", *place),
            throttled=sorted(reason for (reason,) in snapshot.states("throttled", place)),
            health=health,
            why=why,
            mig=self._slices(place),
        )

    def find_holder(self, place: Place) -> Holder | None:
        """Return who holds a GPU: a job before its container or environment."""
        held = self._snapshot.held.get(place)
        if not held:
            return None
        first = min(held, key=lambda stored: (stored.binding.holder_kind != JOB, stored.binding.from_ms))
        row = self._redactor.binding(first)
        name = row["facts"].get("name", "") or row["holder"]
        return Holder(row["kind"], row["holder"], name, row["user"])

    def _health(self, place: Place) -> tuple[Health, str]:
        node = place[0]
        if not self._snapshot.present(place):
            state = self._snapshot.node_state(node)
            if state != "up":
                return "lost", f"nothing is heard of {node}"
            return "lost", "the GPU does not answer any more"
        severity, why = self._worst.get(place, ("info", ""))
        return ("ok" if severity == "info" else severity), why

    def _slices(self, place: Place) -> list[MigSlice]:
        found = sorted(self._snapshot.states("mig", place))
        return [MigSlice(number, profile, None) for number, profile in found]

    def _note(self, place: Place, severity: Severity, why: str) -> None:
        before = self._worst.get(place)
        if before is None or RANK[severity] > RANK[before[0]]:
            self._worst[place] = severity, why
