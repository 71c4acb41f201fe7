"""Renders text format 0.0.4 and OpenMetrics 1.0."""

from __future__ import annotations

import math
from itertools import groupby
from typing import NamedTuple

from vigie.model import Metric, Table, format_series, is_absent
from vigie.model.table import TableValues
from vigie.wire.exposition.families import FamilyTable


class Format(NamedTuple):
    name: str
    content_type: str
    end: str


TEXT = Format("text", "text/plain; version=0.0.4; charset=utf-8", "")
OPENMETRICS = Format("openmetrics", "application/openmetrics-text; version=1.0.0; charset=utf-8", "# EOF\n")


class Renderer:
    """Renders tables. Everything but the values is rendered once per table version."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], tuple[Table, str]] = {}
        self._families = FamilyTable()

    def render(self, parts: list[TableValues], form: Format) -> str:
        return "".join([self._part(values, form) for values in self._families.merge(parts)]) + form.end

    def _part(self, values: TableValues, form: Format) -> str:
        table, numbers, plain = values
        if not numbers:
            return ""
        key = (table.source, form.name)
        kept = self._lines.get(key)
        if kept is None or kept[0] is not table:
            kept = self._lines[key] = (table, build_template(table, form))
        if plain:
            return kept[1] % numbers
        return _fill_special_values(kept[1], numbers)


def build_template(table: Table, form: Format) -> str:
    """Return the table's text with %s in place of each value."""
    blocks = []
    for family, series in groupby(table.series, key=lambda pair: pair[0].family):
        for place, (metric, labels) in enumerate(series):
            if place == 0:
                blocks.append(_format_header(metric._replace(name=family), form).replace("%", "%%"))
            blocks.append(format_series(metric, labels).replace("%", "%%") + " %s\n")
    return "".join(blocks)


def _format_header(metric: Metric, form: Format) -> str:
    name, kind = metric.name, metric.kind
    if form is OPENMETRICS:
        name, kind = _openmetrics_family(metric)
    elif kind == "info":
        kind = "gauge"
    text = f"# HELP {name} {_escape(metric.help)}\n# TYPE {name} {kind}\n"
    if form is OPENMETRICS and metric.unit and name.endswith("_" + metric.unit):
        text += f"# UNIT {name} {metric.unit}\n"
    return text


def _openmetrics_family(metric: Metric) -> tuple[str, str]:
    # OpenMetrics drops the suffix from the family name. A counter without it is invalid there,
    # and renaming would split the series in two, so its type is "unknown".
    for kind, suffix in (("counter", "_total"), ("info", "_info")):
        if metric.kind == kind:
            if metric.name.endswith(suffix):
                return metric.name[: -len(suffix)], kind
            return metric.name, "unknown" if kind == "counter" else "gauge"
    return metric.name, "unknown" if metric.kind == "untyped" else metric.kind


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _fill_special_values(lines: str, numbers: tuple[float, ...]) -> str:
    """Format infinities and NaN as the formats require, and omit absent values."""
    kept = []
    places = iter(numbers)
    for line in lines.split("\n"):
        if line.startswith("#") or not line:
            kept.append(line.replace("%%", "%"))
            continue
        value = next(places)
        if not is_absent(value):
            kept.append(line % _format_value(value))
    return "\n".join(kept)


def _format_value(value: float) -> str:
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(value)
