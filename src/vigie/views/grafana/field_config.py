"""How Grafana is told what a number is: its unit, its bounds, and from where on it is trouble."""

from __future__ import annotations

from typing import Any

from vigie.model.dashboard import Panel, Threshold

UNITS = {
    "": "none",
    "ratio": "percentunit",
    "percent": "percent",
    "bytes": "bytes",
    "bytes/s": "Bps",
    "bits/s": "bps",
    "celsius": "celsius",
    "watts": "watt",
    "joules": "joule",
    "hertz": "hertz",
    "seconds": "s",
    "milliseconds": "ms",
    "ops/s": "ops",
    "count": "short",
    "bool": "bool_yes_no",
    "rpm": "rotrpm",
}
COLOURS = {"": "text", "warning": "orange", "critical": "red"}
RANK = ("", "warning", "critical")
UNSCALED = ("number", "table")  # without an axis
HAIR = 1e-9  # a step of Grafana's begins at its value, one of ours that is `below` ends there


def defaults(panel: Panel) -> dict[str, Any]:
    """Return what holds for every number of a panel."""
    said: dict[str, Any] = {
        "unit": UNITS[panel.unit],
        "thresholds": {"mode": "absolute", "steps": steps(panel.thresholds)},
        "noValue": f"no data: needs {panel.needs}" if panel.needs else "no data",
    }
    if panel.floor is not None and panel.kind not in UNSCALED:
        said["min"] = panel.floor
    if panel.ceiling is not None:
        said["max"] = panel.ceiling
    return said


def steps(thresholds: tuple[Threshold, ...]) -> list[dict[str, Any]]:
    """Return from which value on which colour holds."""
    begins = [(each.value + HAIR if each.below else each.value) for each in thresholds]
    least = {"value": None, "color": COLOURS[_state(float("-inf"), thresholds)]}
    above = [{"value": value, "color": COLOURS[_state(value, thresholds)]} for value in sorted(set(begins))]
    return [least, *above]


def _state(value: float, thresholds: tuple[Threshold, ...]) -> str:
    reached = [each.state for each in thresholds if _exceeds(value, each)]
    return max(reached, key=RANK.index, default="")


def _exceeds(value: float, threshold: Threshold) -> bool:
    return value <= threshold.value if threshold.below else value >= threshold.value
