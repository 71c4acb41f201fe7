"""/api/dashboards tells what to show, as data, to whoever may look."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.server.asgi import Answer, call
from tests.server.whole import whole
from vigie.dashboards import all_dashboards
from vigie.model.dashboard import Panel, PanelQuery, Variable


def ask(data: Path, path: str) -> Answer:
    async def asked() -> Answer:
        with whole(data) as (app, _, _):
            return await asyncio.to_thread(call, app, "GET", path)

    return asyncio.run(asked())


def test_list_has_those_that_are_meant_for_it(tmp_path: Path) -> None:
    rows = ask(tmp_path, "/api/dashboards").json["dashboards"]
    assert [row["slug"] for row in rows] == [board.slug for board in all_dashboards() if board.listed]
    assert all(row.keys() == {"slug", "title", "description"} for row in rows)


@pytest.mark.parametrize("slug", ["cluster", "page-gpu"])
def test_dashboard_is_an_object_with_the_names_of_its_fields(tmp_path: Path, slug: str) -> None:
    told = ask(tmp_path, f"/api/dashboards/{slug}").json
    assert told["slug"] == slug
    panel = told["sections"][0]["panels"][0]
    assert panel.keys() == set(Panel._fields)
    assert panel["queries"][0].keys() == set(PanelQuery._fields)
    assert all(variable.keys() == set(Variable._fields) for variable in told["variables"])


def test_unknown_dashboard_is_refused_with_where_to_look(tmp_path: Path) -> None:
    said = ask(tmp_path, "/api/dashboards/nothing")
    assert said.status == 404
    assert "/api/dashboards lists them" in said.json["error"]
