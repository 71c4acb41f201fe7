"""Grafana's own types, by tsc and npm's @grafana/schema, fit every dashboard."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.page_script import page_script
from tests.real.conftest import output
from vigie.dashboards import all_dashboards
from vigie.views.grafana.dashboards import DefaultDashboard, build_dashboard
from vigie.views.grafana.provisioning import OF_SERVER

HERE = Path(__file__).parents[1] / "grafana"
ASKS = DefaultDashboard(*OF_SERVER)
# Each of these makes one dashboard wrong; tsc must find every one.
SPOILED = (
    ('"mode": "multi"', '"mode": "multy"'),
    ('"lineWidth": 1', '"lineWidth": "1"'),
    ('"showLegend"', '"showLegends"'),
    ('"type": "timeseries"', '"type": "graph"'),
    ('"expr"', '"query"'),
    ('"asDropdown": true', '"asDropdown": 1'),
    ('"graphTooltip": 1', '"graphTooltip": 7'),
)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with our stricter types and, beside them, what npm installs."""
    home = tmp_path_factory.mktemp("grafana")
    for name in ("package.json", "package-lock.json", ".npmrc", "types.ts", "tsconfig.json"):
        shutil.copy(HERE / name, home)
    done = output(
        *page_script().npm(), "ci", "--prefix", str(home), "--ignore-scripts", "--no-audit", "--no-fund"
    )
    if done.returncode:
        message = f"npm could not install @grafana/schema: {done.stderr.strip()[-300:]}"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    return home


def test_every_dashboard_has_the_types_that_grafana_wants(schema: Path) -> None:
    made = [json.dumps(build_dashboard(board, ASKS, "http://127.0.0.1:8000")) for board in all_dashboards()]
    lines = ['import type { Board } from "../types";']
    lines += [f"export const good{number}: Board = {text};" for number, text in enumerate(made)]
    for number, (right, wrong) in enumerate(SPOILED):
        bad = min((text for text in made if right in text), key=len).replace(right, wrong, 1)
        lines += ["// @ts-expect-error it is wrong", f"export const bad{number}: Board = {bad};"]
    (schema / "made").mkdir()
    (schema / "made" / "boards.ts").write_text("\n".join(lines))
    tsc = schema / "node_modules" / "typescript" / "bin" / "tsc"
    done = output(*page_script().node(), str(tsc), "-p", str(schema))
    assert done.returncode == 0, done.stdout[:4000]
