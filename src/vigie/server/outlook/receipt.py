"""The receipt of a job: what it held, what it made of that, and the energy that took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vigie.server.outlook.asking import Ask, Found
from vigie.server.outlook.ladder import HOUR_MS, STEPS, hours
from vigie.server.outlook.picture import Place
from vigie.server.outlook.selecting import nodes_matcher

POWER = "vigie_gpu_power_watts{%s}"
KEPT = "nothing was measured while it ran, or that is kept no more"


def receipt_asks(nodes: Sequence[str]) -> dict[str, Ask]:
    """Return what has to be asked at moments of the job's life."""
    return {"power": Ask(POWER % nodes_matcher(nodes))}


def receipt(places: Sequence[Place], lasted_ms: int, found: Found, step_ms: int) -> list[dict[str, Any]]:
    """Return the lines: GPU-hours held, measured, at each step of use, and energy."""
    mine = set(places)
    used = {name: hours(found, name, mine, step_ms) for name in STEPS if name != "held"}
    seen = max((measured for measured, _ in used.values()), default=0.0)
    rows = [
        _row("GPU-hours held", len(places) * lasted_ms / HOUR_MS),
        _row("of them measured", seen or None, reason=KEPT),
    ]
    for name, (measured, spent) in used.items():
        label, why = STEPS[name]
        rows.append(_row(label, spent if measured else None, reason=why if seen else KEPT))
    watts = [value for row in found.rows.get("power", ()) if row.labels in mine for value in row.values]
    energy = sum(watts) * step_ms / HOUR_MS / 1000 if watts else None
    return [*rows, _row("energy of its GPUs", energy, "kWh", "no GPU of it told its power")]


def _row(label: str, value: float | None, unit: str = "GPU-hours", reason: str = "") -> dict[str, Any]:
    shown = None if value is None else round(value, 2)
    return {"label": label, "value": shown, "unit": unit, "reason": reason if value is None else ""}
