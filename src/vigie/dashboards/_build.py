"""Helpers to write panels and PromQL."""

from __future__ import annotations

from typing import Any

from vigie.model.dashboard import Panel, PanelQuery, Threshold

WINDOW = "[$__rate_interval]"
RATIO_HIGH = (Threshold(0.9, "warning"), Threshold(0.97, "critical"))
ANY = (Threshold(1, "warning"),)
ANY_BAD = (Threshold(1, "critical"),)
NOT_UP = (Threshold(0, "critical", below=True),)


def build_panel(title: str, why: str, unit: str, promql: str, legend: str = "", **rest: Any) -> Panel:
    return Panel(title, why, (PanelQuery(promql, legend),), unit, **rest)


def build_multi_panel(title: str, why: str, unit: str, queries: dict[str, str], **rest: Any) -> Panel:
    """Build a panel with several queries, by legend."""
    return Panel(
        title, why, tuple(PanelQuery(promql, legend) for legend, promql in queries.items()), unit, **rest
    )


def rate(metric: str, selector: str = "") -> str:
    """Return the rate of a counter per second."""
    return f"rate({metric}{f'{{{selector}}}' if selector else ''}{WINDOW})"


def increase(metric: str, selector: str, span: str = "1h") -> str:
    return f"increase({metric}{{{selector}}}[{span}])"
