"""With `privacy = own` the pages tell nobody of others, under whatever name they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.server.pages.place import MINUTE, NOW, Asked, Place, gpu, serving_place
from vigie.model import Event
from vigie.server.privacy.redactor import Privacy

HIDDEN = ("bob.m", "4711.batch", "secret-model", "bobs-account", "train_secret.py")


class Told(NamedTuple):
    """A server, and how its callers are known."""

    asked: Asked
    shown: dict[str, Any]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    place = Place(tmp_path_factory.mktemp("private"))
    place.node("n1")
    place.samples += [*gpu(0, 0.9), *gpu(1, 0.0)]
    place.job("17", "ada", [("n1", 0)], name="mine", account="adas-account")
    place.job("4711.batch", "bob.m", [("n1", 1)], name="secret-model", account="bobs-account")
    where = {"node": "n1", "user": "bob.m", "job": "4711.batch", "command": "train_secret.py"}
    what = "train_secret.py of bob.m (job 4711.batch) was killed"
    place.events.append(Event("oom_kill", NOW - 3 * MINUTE, what, where, None, "warning"))
    fault = {"node": "n1", "gpu": "1", "user": "bob.m", "command": "train_secret.py"}
    said = "XID 31 in train_secret.py of bob.m"
    place.events.append(Event("xid", NOW - 2 * MINUTE, said, fault, None, "warning"))
    with serving_place(place, Privacy("a key")) as (asked, shown):
        yield Told(asked, shown)


def pages(told: Told, who: str) -> Iterator[str]:
    """Yield every page, those of jobs and users under the names by which the caller knows them."""
    yield from ("pages/cluster", "pages/incidents", "pages/jobs", "pages/nodes", "pages/users")
    yield from ("pages/nodes/n1", "pages/gpus/n1/0", "pages/gpus/n1/1", "findings")
    yield from (f"search?q={word}" for word in ("", "o", "job", "user", "kill", *HIDDEN))
    headers = told.shown[who]
    for row in told.asked.page("pages/jobs", headers)["jobs"]:
        yield f"pages/jobs/{quote(row['id'])}"
    for row in told.asked.page("pages/users", headers)["users"]:
        yield f"pages/users/{quote(row['user'])}"


@pytest.mark.parametrize("who", ["ada", "nobody"])
def test_no_page_tells_of_others(told: Told, who: str) -> None:
    hidden = HIDDEN if who == "ada" else (*HIDDEN, "mine", "adas-account")
    asked = list(pages(told, who))
    assert len(asked) == 9 + 10 + 2 + 2
    for path in asked:
        said = told.asked.ask("GET", f"/api/{path}", headers=told.shown[who])
        assert said.status == 200, path
        assert [word for word in hidden if word.encode() in said.body] == [], path


def test_admin_is_told_all_and_a_user_his_own(told: Told) -> None:
    everything = told.asked.page("pages/jobs", told.shown["admin"])["jobs"]
    assert {row["name"] for row in everything} == {"mine", "secret-model"}
    own = [row for row in told.asked.page("pages/jobs", told.shown["ada"])["jobs"] if row["user"] == "ada"]
    assert [(row["id"], row["name"]) for row in own] == [("17", "mine")]
    assert told.asked.page("session", told.shown["ada"])["home"] == "user/ada"


@pytest.mark.parametrize("path", ["pages/jobs/4711.batch", "pages/users/bob.m"])
def test_real_name_of_another_finds_nothing(told: Told, path: str) -> None:
    assert told.asked.ask("GET", f"/api/{path}", headers=told.shown["ada"]).status == 404


def test_pseudonym_is_that_of_queries_so_lines_behind_numbers_answer(told: Told) -> None:
    (other,) = [
        row for row in told.asked.page("pages/users", told.shown["ada"])["users"] if row["user"] != "ada"
    ]
    page = told.asked.page(f"pages/users/{other['user']}", told.shown["ada"])
    query = page["numbers"][0]["query"]
    found = told.asked.page("v1/query", told.shown["ada"], query=query, time=str(NOW / 1000))
    assert found["data"]["result"][0]["value"][1] == "1"
