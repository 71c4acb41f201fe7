"""Dashboards as Grafana's JSON: nothing is lost, everything has its place, and names never change."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.asking import panels
from vigie.dashboards import all_dashboards
from vigie.model.dashboard import KINDS, UNITS, Dashboard, Panel, PanelQuery, Section, Threshold, Variable
from vigie.publishing.options import PublishOptions
from vigie.views.grafana.dashboards import DefaultDashboard, build_dashboard, uid
from vigie.views.grafana.data_links import WAYS
from vigie.views.grafana.field_config import UNITS as GRAFANA_UNITS
from vigie.views.grafana.field_config import steps
from vigie.views.grafana.panels import build_panel

ASKS = DefaultDashboard("vigie", "vigie")
BOARDS = pytest.mark.parametrize("board", all_dashboards(), ids=lambda board: board.slug)


def _made(board: Dashboard) -> list[dict[str, Any]]:
    return [panel for panel in build_dashboard(board, ASKS)["panels"] if panel["type"] != "row"]


@BOARDS
def test_every_panel_is_there_with_its_words_its_unit_and_its_questions(board: Dashboard) -> None:
    for panel, made in zip(panels(board), _made(board), strict=True):
        assert made["title"] == panel.title
        assert made["description"].startswith(panel.why)
        assert made["fieldConfig"]["defaults"]["unit"] == GRAFANA_UNITS[panel.unit]
        asked = [target["expr"] for target in made["targets"]]
        assert asked[: len(panel.queries)] == [query.promql for query in panel.queries]


@BOARDS
def test_no_panel_lies_on_another_or_outside(board: Dashboard) -> None:
    made = build_dashboard(board, ASKS)["panels"]
    assert len({panel["id"] for panel in made}) == len(made)
    places = [panel["gridPos"] for panel in made]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above


def test_names_are_unique_and_fit_grafana() -> None:
    boards = all_dashboards()
    assert len({uid(board) for board in boards}) == len(boards)
    assert all(len(uid(board)) <= 40 for board in boards)
    titles = [build_dashboard(board, ASKS)["title"] for board in boards]
    assert sorted({title for title in titles if titles.count(title) > 1}) == []
    assert PublishOptions(Path(), "").home in {board.slug for board in boards}


@BOARDS
def test_every_variable_that_is_asked_with_is_there(board: Dashboard) -> None:
    listed = build_dashboard(board, ASKS)["templating"]["list"]
    assert [each["name"] for each in listed] == ["datasource", *(each.name for each in board.variables)]


def test_every_kind_and_unit_of_ours_has_one_of_grafanas() -> None:
    assert set(GRAFANA_UNITS) == set(UNITS)
    for kind in KINDS:
        assert build_panel(Panel("t", "w", (PanelQuery("up"),), kind=kind))["type"]


def test_column_with_a_unit_of_its_own_keeps_it() -> None:
    two = (
        PanelQuery("a", "up for", "seconds"),
        PanelQuery("b", "{{instance}}", "bytes"),
        PanelQuery("c", "n"),
    )
    made = build_panel(Panel("t", "w", two, kind="table"))["fieldConfig"]["overrides"]
    assert [(each["matcher"]["options"], each["properties"][0]["value"]) for each in made[:2]] == [
        ("up for", "s"),
        ("Value #B", "bytes"),
    ]
    made = build_panel(Panel("t", "w", two))["fieldConfig"]["overrides"]
    assert [each["matcher"] for each in made] == [
        {"id": "byFrameRefID", "options": "A"},
        {"id": "byFrameRefID", "options": "B"},
    ]


def test_series_lead_to_the_dashboards_of_what_they_are_of() -> None:
    boards = {board.slug: {each.name for each in board.variables} for board in all_dashboards()}
    for way in WAYS:
        assert set(way.chosen) <= boards[way.slug]
    for kind in ("band", "lines", "bars"):
        panel = Panel("t", "w", (PanelQuery("a", "{{instance}}:{{gpu}}"),), kind=kind)
        made = build_panel(panel)["fieldConfig"]["defaults"]["links"]
        assert [link["title"] for link in made] == ["This GPU", "This node"]
    assert made[1]["url"] == "/d/vigie-node?${__url_time_range}&var-node=${__field.labels.instance}"
    mixed = (PanelQuery("a", "{{instance}}"), PanelQuery("b", "all"))
    assert "links" not in build_panel(Panel("t", "w", mixed))["fieldConfig"]["defaults"]
    table = build_panel(Panel("t", "w", mixed, kind="table"))["fieldConfig"]["overrides"]
    assert [each["matcher"]["options"] for each in table] == ["gpu", "instance", "holder", "user"]


def test_thresholds_begin_where_ours_do_from_above_and_from_below() -> None:
    assert steps((Threshold(80, "warning"), Threshold(90, "critical"))) == [
        {"value": None, "color": "text"},
        {"value": 80, "color": "orange"},
        {"value": 90, "color": "red"},
    ]
    below = steps((Threshold(0, "critical", below=True), Threshold(2, "warning", below=True)))
    assert [(step["value"], step["color"]) for step in below] == [
        (None, "red"),
        (pytest.approx(0, abs=1e-6), "orange"),
        (pytest.approx(2, abs=1e-6), "text"),
    ]
    assert below[1]["value"] > 0  # what is 0 itself is still critical


def test_what_is_missing_is_said_and_never_drawn_as_zero() -> None:
    made = build_panel(Panel("t", "w", (PanelQuery("up"),), needs="the nvidia source"))
    assert made["fieldConfig"]["defaults"]["noValue"] == "no data: needs the nvidia source"
    assert made["fieldConfig"]["defaults"]["custom"]["spanNulls"] is False


def test_all_of_several_is_the_pattern_that_also_matches_what_a_label_may_lack() -> None:
    node = Variable("node", "Nodes", metric="up", by="instance", multi=True)
    boards = [_board(node), _board(node._replace(optional=True)), _board(node._replace(multi=False))]
    made = [build_dashboard(board, ASKS)["templating"]["list"][1] for board in boards]
    assert [each.get("allValue") for each in made] == [".+", ".*", None]
    assert made[0]["query"]["query"] == "label_values(up, instance)"


def _board(*variables: Variable) -> Dashboard:
    return Dashboard("s", "t", "x", (Section("a", (Panel("p", "w", (PanelQuery("up"),)),)),), variables)
