"""Each kind of panel as Grafana draws it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import ascii_uppercase
from typing import Any

from vigie.model.dashboard import Panel, PanelQuery
from vigie.views.grafana.data_links import of_columns, of_series
from vigie.views.grafana.field_config import UNITS, defaults

Json = dict[str, Any]
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
LAST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
TOOLTIP = {"mode": "multi", "sort": "desc"}
NO_LEGEND = {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []}
LEGEND = {**NO_LEGEND, "showLegend": True}
MAX_COLUMNS = 96  # Grafana's strips of colour refuse to draw more moments than have room
MEDIAN = "median"


def build_panel(panel: Panel) -> Json:
    """Return the panel, but for its number and place."""
    made = {
        "lines": _lines,
        "band": _band,
        "number": _number,
        "table": _table,
        "bars": _bars,
        "heat": _heat,
    }[panel.kind](panel)
    needs = f"\n\nNeeds {panel.needs}." if panel.needs else ""
    return {"title": panel.title, "description": panel.why + needs, "datasource": SOURCE, **made}


def _lines(panel: Panel) -> Json:
    custom: Json = {"lineWidth": 1, "fillOpacity": 0, "showPoints": "never", "spanNulls": False}
    if panel.stack:
        custom |= {"fillOpacity": 40, "lineWidth": 0, "stacking": {"mode": "normal", "group": "A"}}
    if panel.thresholds:
        custom["thresholdsStyle"] = {"mode": "dashed"}
    return {
        "type": "timeseries",
        "targets": list(_targets(panel.queries)),
        "options": {"legend": LEGEND, "tooltip": TOOLTIP},
        "fieldConfig": _fields(panel, custom),
    }


def _band(panel: Panel) -> Json:
    """Return every series as a thin line, named when pointed at, and their median as a bold one."""
    medians = [
        query._replace(promql=f"quantile(0.5, {query.promql})", legend=_median(query.legend))
        for query in panel.queries
    ]
    made = _lines(panel._replace(queries=(*panel.queries, *medians)))
    bold = [
        {"id": "custom.lineWidth", "value": 3},
        {"id": "color", "value": {"mode": "fixed", "fixedColor": "text"}},
    ]
    matcher = {"id": "byRegexp", "options": f"/{MEDIAN}$/"}
    made["fieldConfig"]["overrides"].append({"matcher": matcher, "properties": bold})
    made["options"]["legend"] = NO_LEGEND
    made["fieldConfig"]["defaults"]["links"] = of_series(panel.queries)
    return made


def _median(legend: str) -> str:
    return f"{legend.partition('{{')[0].strip()} {MEDIAN}".strip()


def _number(panel: Panel) -> Json:
    several = len(panel.queries) > 1
    return {
        "type": "stat",
        "targets": list(_targets(panel.queries)),
        "options": {
            "reduceOptions": LAST,
            "orientation": "auto",
            "colorMode": "value",
            "graphMode": "area",
            "justifyMode": "auto",
            "textMode": "value_and_name" if several else "value",
            "percentChangeColorMode": "standard",
            "showPercentChange": False,
            "wideLayout": True,
        },
        "fieldConfig": _fields(panel, colours="thresholds"),
    }


def _table(panel: Panel) -> Json:
    """Return a row for each set of labels; of several questions each gives a column, named by its legend."""
    letters = ascii_uppercase[: len(panel.queries)]
    columns = [f"Value #{letter}" for letter in letters] if len(letters) > 1 else ["Value"]
    names = {
        column: query.legend
        for column, query in zip(columns, panel.queries, strict=True)
        if query.legend and "{{" not in query.legend
    }
    hidden = {"Time": True, "__name__": True, "job": True}
    colour = "color-text" if panel.thresholds else "auto"
    cells = {"align": "auto", "cellOptions": {"type": colour}, "inspect": False, "filterable": True}
    return {
        "type": "table",
        "targets": list(_targets(panel.queries, now="table")),
        "transformations": [
            {"id": "merge", "options": {}},
            {"id": "organize", "options": {"excludeByName": hidden, "renameByName": names}},
        ],
        "options": {"showHeader": True, "frameIndex": 0, "cellHeight": "sm"},
        "fieldConfig": _fields(panel, cells, "thresholds", [names.get(column, column) for column in columns]),
    }


def _bars(panel: Panel) -> Json:
    return {
        "type": "bargauge",
        "targets": list(_targets(panel.queries, now="time_series")),
        "options": {
            "reduceOptions": LAST,
            "orientation": "horizontal",
            "displayMode": "basic",
            "valueMode": "text",
            "namePlacement": "auto",
            "showUnfilled": True,
            "sizing": "auto",
            "minVizWidth": 8,
            "minVizHeight": 16,
            "maxVizHeight": 300,
            "legend": NO_LEGEND,
        },
        "fieldConfig": _fields(panel, colours="thresholds"),
    }


def _heat(panel: Panel) -> Json:
    return {
        "type": "status-history",
        "maxDataPoints": MAX_COLUMNS,
        "targets": list(_targets(panel.queries)),
        "options": {"rowHeight": 0.9, "showValue": "never", "legend": NO_LEGEND, "tooltip": TOOLTIP},
        "fieldConfig": _fields(
            panel,
            {"fillOpacity": 80, "lineWidth": 0},
            colours="thresholds" if panel.thresholds else "continuous-blues",
        ),
    }


def _fields(
    panel: Panel,
    custom: Json | None = None,
    colours: str = "palette-classic-by-name",
    columns: Sequence[str] = (),
) -> Json:
    """Return how numbers look: those of a question that has a unit of its own otherwise than the rest."""
    own = []
    for place, query in enumerate(panel.queries):
        matcher = {"id": "byFrameRefID", "options": ascii_uppercase[place]}
        if columns:
            matcher = {"id": "byName", "options": columns[place]}
        if query.unit:
            own.append({"matcher": matcher, "properties": [{"id": "unit", "value": UNITS[query.unit]}]})
    said = {**defaults(panel), "color": {"mode": colours}, "custom": custom or {}}
    if not columns and (ways := of_series(panel.queries)):
        said["links"] = ways
    return {"defaults": said, "overrides": [*own, *(of_columns() if columns else ())]}


def _targets(queries: tuple[PanelQuery, ...], now: str = "") -> Iterator[Json]:
    """Yield the questions: over the time that is looked at, or as of now in a format."""
    for letter, query in zip(ascii_uppercase[: len(queries)], queries, strict=True):
        yield {
            "refId": letter,
            "datasource": SOURCE,
            "editorMode": "code",
            "expr": query.promql,
            "legendFormat": query.legend or "__auto",
            "range": not now,
            "instant": bool(now),
            "format": now or "time_series",
        }
