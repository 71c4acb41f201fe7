"""The pages say what is so, in words; what is not known is absent with a reason, and never zero."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.pages.place import MINUTE, NOW, Asked, Place, gpu, sample, serving_place
from vigie.model import Event

PAGES = ("cluster", "incidents", "jobs", "nodes", "users")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A node with three GPUs, one of which is idle; a job that runs and one that waits."""
    place = Place(tmp_path_factory.mktemp("small"))
    place.node("n1")
    place.samples += [*gpu(0, 0.9), *gpu(1, 0.0), *gpu(2, 0.0)]
    place.job("17", "ada", [("n1", 0), ("n1", 1)], name="train", partition="train", limit="1-00:00:00")
    place.job("18", "bob", [], name="later", partition="train", reason="Resources", gpus="4")
    where = {"node": "n1", "gpu": "1", "pci_bus_id": "00000000:01:00.0", "xid": "48"}
    place.events.append(Event("xid", NOW - 5 * MINUTE, "XID 48: a memory error.", where, None, "critical"))
    with serving_place(place) as (asked, _):
        yield asked


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with serving_place(Place(tmp_path_factory.mktemp("empty"))) as (asked, _):
        yield asked


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A node without a GPU."""
    place = Place(tmp_path_factory.mktemp("plain"))
    place.node("n1")
    place.samples += [sample("node_load1", 0.5), sample("node_boot_time_seconds", NOW / 1000 - 7200)]
    with serving_place(place) as (asked, _):
        yield asked


def test_node_that_was_lost_says_nothing_instead_of_needing_another_reading(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.nodes.append("n1")
    place.samples.append(sample("up", 0))
    with serving_place(place) as (asked, _):
        said = asked.page("pages/nodes/n1", at=str((NOW - 5 * MINUTE) / 1000))
    assert said["verdict"]["sentence"].startswith("n1 is lost: nothing is heard of it.")
    assert by_key(said["numbers"])["cpu"]["reason"] == by_key(said["numbers"])["memory"]["reason"]


def by_key(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in rows}


@pytest.mark.parametrize("page", PAGES)
def test_empty_cluster_answers_on_every_page(empty: Asked, page: str) -> None:
    assert empty.page(f"pages/{page}")["at_ms"] == NOW


def test_empty_cluster_says_how_a_node_joins(empty: Asked) -> None:
    said = empty.page("pages/cluster")["verdict"]
    assert said["state"] == "unknown"
    assert "vigie nodes join" in said["sentence"]


def test_node_without_a_gpu_has_its_page_and_numbers_say_why_they_are_absent(plain: Asked) -> None:
    page = plain.page("pages/cluster")
    assert "none with a GPU" in page["verdict"]["sentence"]
    numbers = by_key(page["numbers"])
    assert [numbers[key]["value"] for key in ("present", "held", "working", "idle", "power")] == [None] * 5
    assert all(row["reason"] for row in page["numbers"] if row["value"] is None)
    node = plain.page("pages/nodes/n1")
    assert node["node"]["uptime_seconds"] == 7200
    assert by_key(node["numbers"])["load"]["value"] == 0.5
    assert node["cells"] == []


def test_verdict_counts_held_working_and_idle(small: Asked) -> None:
    page = small.page("pages/cluster")
    assert page["verdict"]["sentence"] == ("1 thing needs you. 2 of 3 GPUs held, 1 working, 1 held but idle.")
    assert page["verdict"]["state"] == "critical"
    numbers = by_key(page["numbers"])
    assert (numbers["held"]["value"], numbers["held"]["of"]) == (2, 3)
    assert numbers["power"]["value"] == pytest.approx(370 + 100 + 100)
    assert "1 waiting" in numbers["jobs"]["label"]


def test_cell_tells_its_holder_and_leaves_out_what_nobody_measures(small: Asked) -> None:
    (node,) = small.page("pages/cluster")["nodes"]
    first, second, third = node["cells"]
    assert first["holder"] == {"kind": "job", "id": "17", "name": "train", "user": "ada"}
    assert (first["working"], second["working"], third["holder"]) == (True, False, None)
    assert first["memory"] == 0.5
    assert first["sm"] is None
    assert first["power_limit"] is None


def test_event_of_a_gpu_is_an_incident_there_and_on_its_page(small: Asked) -> None:
    (row,) = small.page("pages/incidents")["incidents"]
    assert row["where"] == {"node": "n1", "gpu": "1"}
    assert row["summary"] == "n1:1 reported XID 48: a memory error. Affects job train."
    assert row["link"] == f"gpu/n1/1?at={(NOW - 4 * MINUTE) // 1000}"
    assert row["affects"] == {"jobs": [{"id": "17", "name": "train"}], "users": ["ada"], "gpus": 2}
    cells = small.page("pages/cluster")["nodes"][0]["cells"]
    assert [cell["health"] for cell in cells] == ["ok", "critical", "ok"]
    assert [event["where"]["xid"] for event in small.page("pages/gpus/n1/1")["health"]["xids"]] == ["48"]
    assert small.page("pages/gpus/n1/0")["health"]["xids"] == []


def test_jobs_are_listed_by_state(small: Asked) -> None:
    running = small.page("pages/jobs", state="running")["jobs"]
    assert [(row["id"], row["limit_seconds"]) for row in running] == [("17", 86_400)]
    assert running[0]["ladder"] == {"held": 2, "process": 2.0, "busy": 0.9, "sm": None, "tensor": None}
    (waiting,) = small.page("pages/jobs", state="waiting")["jobs"]
    assert (waiting["reason"], waiting["wanted_gpus"], waiting["start_ms"]) == ("Resources", 4, None)
    assert waiting["why"] == "too little is free for it"
    assert small.page("pages/jobs", state="finished")["jobs"] == []


def test_job_page_tells_each_step_or_why_it_is_not_known(small: Asked) -> None:
    page = small.page("pages/jobs/17")
    steps = by_key(page["ladder"])
    assert steps["process"]["lost_gpu_hours"] == 0
    assert steps["busy"]["lost_gpu_hours"] == pytest.approx(0.55, abs=0.05)
    assert steps["sm"]["gpus"] is None
    assert "profiling" in steps["sm"]["reason"]
    assert [row["rank"] for row in sorted(page["ranks"], key=lambda row: row["gpu"])] == [0, 1]


def test_waiting_job_tells_what_is_free(small: Asked) -> None:
    free = small.page("pages/jobs/18")["free"]
    assert (free["gpus"], free["nodes"]) == (1, 0)
    assert free["sentence"] == "1 GPU free in partition train, 0 whole nodes."


def test_user_page_tells_what_idles_with_the_command(small: Asked) -> None:
    page = small.page("pages/users/ada")
    assert page["verdict"]["sentence"].startswith("ada holds 2 GPUs, 1 working, 1 idle.")
    assert [row["command"] for row in page["idle"]] == ["scancel 17"]
    assert (page["verdict"]["state"], "1 thing needs you." in page["verdict"]["sentence"]) == (
        "critical",
        True,
    )
    users = small.page("pages/users")
    assert users["verdict"]["sentence"] == "1 user holds 2 GPUs, 1 working, 1 idle."
    rows = [(row["user"], row["held"], row["waiting"]) for row in users["users"]]
    assert rows == [("ada", 2, 0), ("bob", 0, 1)]


def test_gpu_page_tells_its_holders_and_siblings(small: Asked) -> None:
    page = small.page("pages/gpus/n1/0")
    assert [(row["id"], row["to_ms"]) for row in page["holders"]] == [("17", None)]
    assert [cell["gpu"] for cell in page["siblings"]] == ["1", "2"]
    assert [cell["gpu"] for cell in page["ranks"]] == ["1"]
    numbers = by_key(page["numbers"])
    assert numbers["clock"]["value"] is None
    assert numbers["clock"]["reason"]


def test_past_is_told_as_it_was(small: Asked) -> None:
    before = small.page("pages/cluster", at=str((NOW - 40 * MINUTE) / 1000))
    assert before["jobs"] == []
    assert before["incidents"] == []
    assert before["nodes"][0]["cells"][0]["holder"] is None
    long_ago = small.page("pages/cluster", at="2001-01-01T00:00:00Z")
    assert long_ago["nodes"][0]["state"] == "unheard"


@pytest.mark.parametrize(
    "path", ["pages/jobs/nothing", "pages/nodes/nothing", "pages/gpus/n1/9", "pages/users/nobody"]
)
def test_what_is_not_there_is_404_with_its_name(small: Asked, path: str) -> None:
    status, error = small.status(path)
    assert status == 404
    assert path.rpartition("/")[2] in error


@pytest.mark.parametrize(
    ("path", "given_", "named"),
    [
        ("pages/cluster", {"at": "yesterday"}, "at"),
        ("pages/jobs", {"state": "odd"}, "state"),
        ("search", {"q": "x" * 1000}, "q"),
        ("pages/gpus/n1/0", {"at": "-"}, "at"),
    ],
)
def test_garbage_is_refused_and_named(small: Asked, path: str, given_: dict[str, str], named: str) -> None:
    status, error = small.status(path, **given_)
    assert status == 400
    assert f'"{named}"' in error


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=30), st.sampled_from(["at", "state", "q"]), st.sampled_from(["pages/jobs", "search"]))
def test_no_parameter_makes_the_server_fail(small: Asked, text: str, name: str, path: str) -> None:
    assert small.ask("GET", f"/api/{path}?{name}={quote(text, errors='replace')}").status in (200, 400)


def test_search_over_nothing_gives_the_pages(empty: Asked) -> None:
    found = empty.page("search", q="")["found"]
    assert {row["kind"] for row in found} == {"page"}
    assert empty.page("search", q="no such thing")["found"] == []
