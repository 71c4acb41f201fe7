"""What the ranks of a job report stands on the job's page, beside the GPU of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.server.pages.place import Asked, Place, gpu, sample, serving_place
from vigie.server.privacy.redactor import Privacy
from vigie.store.heads.ungrouped import Samples


class Told(NamedTuple):
    """A server, and how its callers are known."""

    asked: Asked
    shown: dict[str, Any]


def _report(measure: str, value: float, node: str = "n1", **labels: str) -> Samples:
    told = {"rank": "", "gpu": "", "pid": "7", "job_id": "", "user": "ada", **labels}
    return sample("vigie_report_value", value, node, measure=measure, **{k: v for k, v in told.items() if v})


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    place = Place(tmp_path_factory.mktemp("reports"))
    place.node("n1")
    place.node("n2")
    place.samples += [*gpu(0, 0.9), *gpu(1, 0.9), *gpu(2, 0.9), *gpu(0, 0.9, "n2")]
    place.job("17", "ada", [("n1", 0), ("n1", 1), ("n2", 0)], name="mine")
    place.job("18", "bob", [("n1", 2)], name="other")
    place.samples += [
        _report("loss", 1.5, rank="5", gpu="0", job_id="17"),  # by the GPU, whatever rank it says
        _report("step_seconds", 0.5, rank="5", gpu="0", job_id="17"),
        _report("mfu", 0.4, gpu="1"),  # of no job that is known: by the GPU alone
        _report("samples_per_second", 64, "n2", rank="2", job_id="17"),  # no driver tells its GPU: by rank
        _report("loss", 99, "n2", rank="0", job_id="17"),  # rank 0 is on the other node
        _report("loss", 98, "n2", gpu="0", job_id="17", user="mallory"),  # another's process claims the job
        _report("loss", 97, gpu="1", job_id="18"),  # of another job
        _report("loss", 2.5, gpu="2", job_id="18", user="bob"),
        _report("secret_score", 7, gpu="2", job_id="18", user="bob"),
    ]
    with serving_place(place, Privacy("a key")) as (asked, shown):
        yield Told(asked, shown)


def _ranks(told: Told, job: str, who: str) -> dict[str, dict[str, Any]]:
    page = told.asked.page(f"pages/jobs/{job}", told.shown[who])
    return {f"{row['node']}:{row['gpu']}": row for row in page["ranks"]}


def test_reported_values_stand_beside_the_gpu_of_their_process(told: Told) -> None:
    ranks = _ranks(told, "17", "ada")

    assert (ranks["n1:0"]["rank"], ranks["n1:0"]["loss"], ranks["n1:0"]["step_seconds"]) == (5, 1.5, 0.5)
    assert (ranks["n1:1"]["rank"], ranks["n1:1"]["mfu"]) == (1, 0.4)
    assert ranks["n2:0"]["samples_per_second"] == 64


def test_what_others_claim_to_be_of_the_job_is_left_out(told: Told) -> None:
    ranks = _ranks(told, "17", "admin")

    assert {place: row["loss"] for place, row in ranks.items()} == {"n1:0": 1.5, "n1:1": None, "n2:0": None}


def test_what_another_user_reports_is_hidden_from_pages_and_queries(told: Told) -> None:
    (other,) = [
        row["id"] for row in told.asked.page("pages/jobs", told.shown["ada"])["jobs"] if row["user"] != "ada"
    ]
    assert _ranks(told, other, "ada")["n1:2"]["loss"] is None
    assert _ranks(told, "18", "admin")["n1:2"]["loss"] == 2.5

    said = told.asked.ask("GET", "/api/v1/series?match[]=vigie_report_value", headers=told.shown["ada"])
    assert said.status == 200
    assert b"secret_score" not in said.body
    assert b"bob" not in said.body
    assert b'"loss"' in said.body
