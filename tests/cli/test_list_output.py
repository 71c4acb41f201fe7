"""vigie who and vigie jobs: tables for people, lines of JSON for programs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from tests.server.serving import listening
from vigie.cli import main
from vigie.model import Binding
from vigie.server.api.bindings import BindingRoutes
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.views.text.times import format_duration

NOW = time.time_ns() // 1_000_000
HOUR = 3_600_000


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    database = ClusterDatabase(tmp_path_factory.mktemp("book") / FILE)
    book = BindingStore(database)
    begin = NOW - 2 * HOUR - 1000
    for gpu in (10, 2):
        book.add("n1", Binding(f"gpu:{gpu}", "job", "17", begin, None, "ada", "slurm", {"name": "train"}))
    book.add("n2", Binding("node", "container", "c0ffee", begin, None, ""))
    book.add("n2", Binding("gpu:0", "job", "16", begin, begin + HOUR, "bob"))
    book.add(
        "head",
        Binding("queue", "job", "18", begin, None, "bob", "slurm", {"reason": "Priority", "gpus": "4"}),
    )
    with listening(Starlette(routes=BindingRoutes(book, lambda: NOW).routes())) as port:
        yield f"http://127.0.0.1:{port}"
    database.close()


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[list[str]]:
    assert main([*arguments]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_who_tells_what_is_held_by_node_and_gpu(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = said(capsys, "who", "--server", url)
    assert [row[:-1] for row in rows] == [
        ["node", "what", "user", "holder", "name"],
        ["n1", "gpu", "2", "ada", "job", "17", "train"],
        ["n1", "gpu", "10", "ada", "job", "17", "train"],
        ["n2", "node", "-", "container", "c0ffee", "-"],
    ]
    assert all(row[-1].startswith("2h") for row in rows[1:])


def test_who_is_filtered_and_speaks_json(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["who", "--server", url, "--user", "ada", "--gpu", "2", "--json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert (json.loads(line)["holder"], json.loads(line)["gpu"]) == ("17", "2")
    assert main(["who", "--server", url, "--node", "n9"]) == 0
    assert "No allocations reported" in capsys.readouterr().out


def test_jobs_tells_what_runs_and_waits_and_on_request_what_is_over(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [[*row[:2], row[4]] for row in said(capsys, "jobs", "--server", url)]
    assert rows == [["job", "state", "gpus"], ["17", "running", "2"], ["18", "waiting", "4"]]
    (_, finished) = said(capsys, "jobs", "--server", url, "--state", "finished")
    assert finished == ["16", "finished", "bob", "-", "1", "n2", "1h", "-"]
    assert len(said(capsys, "jobs", "--server", url, "--state", "all")) == 4
    assert main(["jobs", "--server", url, "--state", "all", "--json", "--job", "18"]) == 0
    assert json.loads(capsys.readouterr().out)["facts"] == {"reason": "Priority", "gpus": "4"}
    assert main(["jobs", "--server", url, "--user", "nobody"]) == 0
    assert "No matching jobs" in capsys.readouterr().out


def test_narrow_terminal_gets_rows_of_two_lines(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = said(capsys, "jobs", "--server", url)
    assert rows[:2] == [["job", "state", "user", "name", "gpus", "for"], ["nodes", "reason"]]
    assert [row for row in rows[2:] if row[0] in ("17", "18")] == rows[2::2]


def test_limit_counts_what_is_told_and_not_what_waits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = ClusterDatabase(tmp_path / FILE)
    book = BindingStore(database)
    book.add("n1", Binding("gpu:0", "job", "1", NOW - HOUR, None))
    for job in ("2", "3"):
        book.add("head", Binding("queue", "job", job, NOW, None))
    with listening(Starlette(routes=BindingRoutes(book, lambda: NOW).routes())) as port:
        rows = said(capsys, "who", f"--server=http://127.0.0.1:{port}", "--limit=1")
    database.close()
    assert [row[0] for row in rows] == ["node", "n1"]


def test_pages_are_put_together(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(said(capsys, "jobs", "--server", url, "--state", "all", "--limit", "2")) == 3


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59, "59s"), (3620, "1h"), (3661, "1h1m"), (90_000, "1d1h"), (-5, "0s")]
)
def test_length_of_time_is_told_in_its_largest_unit_and_the_one_below(seconds: int, text: str) -> None:
    assert format_duration(seconds * 1000) == text


def test_server_that_is_not_there_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["who", "--server", "http://127.0.0.1:1", "--data", str(tmp_path)]) == 1
    assert "Cannot reach the server" in capsys.readouterr().err
