"""/api/bindings, /api/jobs and /api/users: filters, pages, and bad questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette

from tests.server.asgi import Answer, call
from vigie.model import Binding
from vigie.server.api.bindings import BindingRoutes
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import FILE, ClusterDatabase

HOUR = 3_600_000
NOW = 1_000 * HOUR


class Scene:
    """The routes over a book."""

    def __init__(self, book: BindingStore) -> None:
        self.book = book
        self._app = Starlette(routes=BindingRoutes(book, lambda: NOW).routes())

    def ask(self, path: str) -> Answer:
        return call(self._app, "GET", path)

    def get(self, path: str) -> Any:
        answer = self.ask(path)
        assert answer.status == 200, answer.body
        return answer.json


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    database = ClusterDatabase(tmp_path / FILE)
    book = BindingStore(database)
    for number in range(5):
        user = "ada" if number < 3 else "bob"
        end = None if number % 2 else NOW - HOUR
        begin = NOW - (10 - number) * HOUR
        book.add(
            f"n{number % 2}", Binding(f"gpu:{number}", "job", str(100 + number), begin, end, user, "slurm")
        )
    yield Scene(book)
    database.close()


def holders(rows: list[dict[str, Any]]) -> list[str]:
    return [row["holder"] for row in rows]


def test_bindings_come_newest_first_page_by_page(scene: Scene) -> None:
    first = scene.get("/api/bindings?limit=3")
    second = scene.get(f"/api/bindings?limit=3&before={first['next']}")
    assert holders(first["bindings"]) == ["104", "103", "102"]
    assert holders(second["bindings"]) == ["101", "100"]
    assert "next" not in second
    assert first["bindings"][1] == {
        "id": 4,
        "node": "n1",
        "resource": "gpu:3",
        "gpu": "3",
        "kind": "job",
        "holder": "103",
        "user": "bob",
        "from_ms": NOW - 7 * HOUR,
        "to_ms": None,
        "end": "",
        "source": "slurm",
        "facts": {},
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("node=n1", ["103", "101"]),
        ("gpu=2", ["102"]),
        ("user=bob", ["104", "103"]),
        ("job=100", ["100"]),
        ("kind=container", []),
        ("state=held", ["103", "101"]),
        ("state=ended&user=ada", ["102", "100"]),
        (f"to={(NOW - 9 * HOUR) // 1000}", ["101", "100"]),
        (f"from={(NOW - HOUR // 2) // 1000}", ["103", "101"]),
    ],
)
def test_bindings_are_filtered(scene: Scene, query: str, expected: list[str]) -> None:
    assert holders(scene.get(f"/api/bindings?{query}")["bindings"]) == expected


def test_jobs_come_page_by_page_and_are_filtered(scene: Scene) -> None:
    first = scene.get("/api/jobs?limit=4")
    assert [job["id"] for job in first["jobs"]] == ["104", "103", "102", "101"]
    assert [job["id"] for job in scene.get(f"/api/jobs?before={first['next']}")["jobs"]] == ["100"]
    assert [job["id"] for job in scene.get("/api/jobs?state=running&user=bob")["jobs"]] == ["103"]
    (job,) = scene.get("/api/jobs?job=101")["jobs"]
    assert job == {
        "id": "101", "name": "", "user": "ada", "state": "running", "queued_ms": None,
        "start_ms": NOW - 9 * HOUR, "end_ms": None, "nodes": ["n1"], "gpus": ["n1:1"], "source": "slurm",
        "facts": {},
    }  # fmt: skip


def test_users_are_told_with_what_they_hold_and_for_how_long(scene: Scene) -> None:
    ada, bob = scene.get("/api/users")["users"]
    assert (ada["user"], ada["gpus"], ada["gpu_hours"]) == ("ada", ["n1:1"], 9 + 9 + 7)
    assert (bob["user"], bob["gpus"], bob["gpu_hours"]) == ("bob", ["n1:3"], 7 + 5)
    first = scene.get("/api/users?limit=1")
    assert [user["user"] for user in first["users"]] == [first["next"]] == ["ada"]
    assert [user["user"] for user in scene.get("/api/users?before=ada")["users"]] == ["bob"]
    span = f"from={(NOW - 2 * HOUR) // 1000}&to={(NOW - HOUR) // 1000}"
    assert [user["gpu_hours"] for user in scene.get(f"/api/users?{span}")["users"]] == [3, 2]


@pytest.mark.parametrize("path", ["bindings", "jobs", "users"])
@pytest.mark.parametrize("query", ["limit=0", "limit=x", "state=odd", "from=x", "to=é", "limit=²"])
def test_bad_question_is_told_so(scene: Scene, path: str, query: str) -> None:
    answer = scene.ask(f"/api/{path}?{quote(query, safe='=')}")
    assert (answer.status, answer.json["errorType"]) == (400, "bad_data")


@pytest.mark.parametrize("path", ["bindings", "jobs"])
def test_place_in_the_list_that_no_answer_gave_is_refused(scene: Scene, path: str) -> None:
    assert scene.ask(f"/api/{path}?before=x").status == 400
