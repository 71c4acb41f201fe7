"""Every question of every dashboard has an answer on the demo, and every variable has values there."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.dashboards.asking import RATE_INTERVAL, all_questions, everything, fill, questions
from vigie.dashboards import all_dashboards
from vigie.model.dashboard import Dashboard

pytestmark = pytest.mark.process

NOW = 1_794_808_800
HISTORY = 3 * 3600  # within which every incident shows
STEP = 120
# Questions that the simulated cluster has no answer to, each with the reason.
WITHOUT = {
    "node/Power supplies/0": "a server's board does not tell the kernel of its power supplies",
    "node/Text file errors/0": "nobody writes text files there",
    "node/Unresponsive mounts/0": "all of them do",
}


class Server:
    """A running server, asked over HTTP."""

    def __init__(self, address: str) -> None:
        self._client = http.client.HTTPConnection(address, timeout=120)

    def close(self) -> None:
        self._client.close()

    def ask(self, path: str, **parameters: object) -> Any:
        """Return the data of an answer."""
        self._client.request("GET", f"/api/v1/{path}?{urlencode(parameters)}")
        body = json.loads(self._client.getresponse().read())
        assert body["status"] == "success", (parameters, body)
        return body["data"]

    def values(self, selector: str, label: str) -> list[str]:
        """Return what a variable may be."""
        span = {"start": NOW - HISTORY, "end": NOW}
        found: list[str] = self.ask(f"label/{label}/values", **{"match[]": selector}, **span)
        return found


@pytest.fixture(scope="module")
def demo() -> Iterator[Server]:
    command = [
        sys.executable,
        "-m",
        "vigie",
        "demo",
        "--listen=127.0.0.1:0",
        f"--now={NOW}",
        f"--history={HISTORY}s",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        with contextlib.closing(Server(re.sub(r"^http://|\s", "", process.stdout.readline()))) as server:
            yield server
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_every_question_has_an_answer(demo: Server) -> None:
    span = {"start": NOW - HISTORY, "end": NOW, "step": STEP}
    empty = {
        asked.id
        for asked in all_questions()
        if not demo.ask("query_range", query=f"count({asked.text})", **span)["result"]
    }
    assert empty == set(WITHOUT)


def test_question_that_joins_with_holders_in_the_how_to_has_an_answer(demo: Server) -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "allocations.md").read_text()
    (question,) = re.findall(r"^```\n(.+)\n```$", text, re.MULTILINE)
    assert demo.ask("query", query=question, time=NOW)["result"]


def test_every_variable_has_values_and_panels_answer_for_the_first_of_them(demo: Server) -> None:
    for board in all_dashboards():
        for asked in questions(board, **_chosen(demo, board)):
            demo.ask("query", query=f"count({asked.text})", time=NOW)


def _chosen(demo: Server, board: Dashboard) -> dict[str, str]:
    """Return what stands in PromQL when a page opens: all, or of what only one may be chosen the first."""
    chosen = {"__rate_interval": RATE_INTERVAL}
    for variable in board.variables:
        chosen[variable.name] = everything(variable)
        if not variable.choices:
            found = demo.values(fill(variable.metric, chosen), variable.by)
            assert found, f"{board.slug}: {variable.name} has no values"
            if not variable.multi:
                chosen[variable.name] = re.escape(found[0])
    return chosen
