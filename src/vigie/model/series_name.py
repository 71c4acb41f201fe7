"""How a series is written wherever people or programs read it as text."""

from __future__ import annotations

from vigie.model.metric import Metric


def format_series(metric: Metric, labels: tuple[str, ...]) -> str:
    """Return name{label="value"}; an empty label is the same as none, so it is left out."""
    if len(labels) != len(metric.labels):
        raise ValueError(f"{metric.name} has labels {metric.labels}, but was given {labels}")
    pairs = zip(metric.labels, labels)
    inside = ",".join(f'{name}="{_escape(value)}"' for name, value in pairs if value)
    return f"{metric.name}{{{inside}}}" if inside else metric.name


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
