"""Whole dashboards as Grafana's JSON: sections are rows, and every panel has its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from vigie.model.dashboard import Dashboard, Panel, Section
from vigie.views.grafana.panels import build_panel
from vigie.views.grafana.variables import data_source_variable, pick_variable

Json = dict[str, Any]
TAG = "vigie"
SCHEMA = 39  # Grafana 10.3 and later read it, and newer ones migrate it
WIDTH = 24  # of Grafana's grid
SHARED_CROSSHAIR = 1


class DefaultDashboard(NamedTuple):
    """The data source that a dashboard asks until its reader chooses another."""

    name: str
    uid: str


def uid(board: Dashboard) -> str:
    """Return the name by which links find the dashboard; it never changes."""
    return f"vigie-{board.slug}"


def build_dashboard(board: Dashboard, asks: DefaultDashboard, page: str = "") -> Json:
    """Return a dashboard; `page` is where the server's own page is, to be linked to."""
    return {
        "uid": uid(board),
        "title": board.title,
        "description": board.description,
        "tags": [TAG] if board.listed else [TAG, "page"],
        "schemaVersion": SCHEMA,
        "editable": False,
        "graphTooltip": SHARED_CROSSHAIR,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": list(_links(page)),
        "annotations": {"list": []},
        "templating": {"list": [data_source_variable(*asks), *map(pick_variable, board.variables)]},
        "panels": list(_number_panels(board.sections)),
    }


def _links(page: str) -> Iterator[Json]:
    common: Json = {"icon": "external link", "tooltip": "", "keepTime": True, "tags": [TAG]}
    yield common | {
        "type": "dashboards",
        "title": "Dashboards",
        "asDropdown": True,
        "includeVars": True,
        "targetBlank": False,
    }
    if page:
        yield common | {
            "type": "link",
            "title": "vigie",
            "url": page,
            "tags": [],
            "asDropdown": False,
            "includeVars": False,
            "targetBlank": True,
        }


def _number_panels(sections: tuple[Section, ...]) -> Iterator[Json]:
    return ({"id": number, **panel} for number, panel in enumerate(_place_panels(sections), 1))


def _place_panels(sections: tuple[Section, ...]) -> Iterator[Json]:
    """Yield rows and panels from left to right and from top to bottom."""
    top = 0
    for section in sections:
        place = {"x": 0, "y": top, "w": WIDTH, "h": 1}
        yield {"type": "row", "title": section.title, "collapsed": False, "panels": [], "gridPos": place}
        top, left, highest = top + 1, 0, 0
        for panel in section.panels:
            width, height = _size(panel)
            if left + width > WIDTH:
                top, left, highest = top + highest, 0, 0
            yield {**build_panel(panel), "gridPos": {"x": left, "y": top, "w": width, "h": height}}
            left, highest = left + width, max(highest, height)
        top += highest


def _size(panel: Panel) -> tuple[int, int]:
    if panel.kind == "number" and not panel.wide:
        return 4, 4
    return (WIDTH if panel.wide or panel.kind == "table" else WIDTH // 2), 8
