"""Text form of a series."""

from __future__ import annotations

from vigie.model.metric import Metric


def format_series(metric: Metric, labels: tuple[str, ...]) -> str:
    """Return name{label="value"}. Empty labels are omitted, as they equal missing ones."""
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name} has labels {metric.labels}, got {labels}")
    pairs = zip(metric.labels, labels)
    inside = ",".join(f'{name}="{_escape(value)}"' for name, value in pairs if value)
    return f"{metric.name}{{{inside}}}" if inside else metric.name


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
