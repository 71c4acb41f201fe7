"""On the simulated cluster every incident is found by name, at its time, and nothing else is."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bench.programs import free_port

from tests.cli.test_demo import Demo, running
from tests.real.waiting import until
from vigie.simulation.cluster.incidents import INCIDENTS
from vigie.simulation.cluster.machines import build_machines
from vigie.simulation.cluster.workloads import IDLE, JOBS, LINGERING, NEVER_STARTED

pytestmark = pytest.mark.process

NOW = "2026-11-16T06:00:00Z"
NOW_MS = 1_794_808_800_000
MINUTE = 60_000
NAMES = {
    "clock-cap": "gpu-throttled",
    "xid-79": "gpu-lost",
    "row-remap": "row-remap-pending",
    "link-flap": "ib-link-flap",
    "starved": "data-starved",
    "leak": "memory-leak",
    "lost": "node-lost",
    "pcie": "pcie-downgrade",
    "hang": "rank-hung",
    "neighbour": "cpu-saturated",
    "drained": "node-drained",
}
HOLDING = {IDLE: "idle-holder", LINGERING: "finished-holding", NEVER_STARTED: "never-started"}
SLOW = {"memory-leak": 60}  # minutes that it takes until it can be known
CLOSE = 6  # minutes by which a beginning or end may be off
# How long it takes until a question can tell, in minutes: the time over which it looks.
LAGS = {"idle-holder": 60, "finished-holding": 60, "never-started": 15, "memory-leak": 60}


class Truth(NamedTuple):
    """What is wrong in the demo; times are minutes from now."""

    name: str
    place: str
    begin: float
    end: float | None
    words: tuple[str, ...]  # what its sentence must name


def truths() -> list[Truth]:
    found = []
    names = {job.id: job.name for job in JOBS}
    for one in INCIDENTS:
        gpu = f"{one.node}:{one.gpu}" if one.gpu is not None else one.node
        words = (names[one.job], one.node) if one.kind in ("starved", "hang") else (gpu, one.device)
        found.append(Truth(NAMES[one.kind], one.node, one.begin, one.end, words))
    for job in JOBS:
        if job.behaviour in HOLDING:
            begin = job.begin if job.worked_until is None else job.worked_until
            found.append(
                Truth(HOLDING[job.behaviour], job.places[0].node, begin, job.end, (job.name, job.user))
            )
    return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running(tmp_path_factory.mktemp("demo"), f"--now={NOW}") as found:
        until(lambda: not found.get("api/pages/cluster")["unfinished"], "its hours are looked at")
        yield found


def found_at(demo: Demo, minutes: float = 0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = demo.get("api/pages/incidents", at=f"{NOW_MS / 1000 + minutes * 60:.0f}")[
        "incidents"
    ]
    return rows


def minutes_of(moment: int) -> float:
    return (moment - NOW_MS) / MINUTE


def is_it(row: dict[str, Any], truth: Truth) -> bool:
    return row["finding"] == truth.name and truth.place in row["nodes"]


@pytest.mark.parametrize("truth", truths(), ids=lambda truth: f"{truth.name} on {truth.place}")
def test_incident_is_found_by_name_at_its_time(demo: Demo, truth: Truth) -> None:
    (row,) = [row for row in found_at(demo) if is_it(row, truth) and near(row, truth)]
    assert (row["until_ms"] is None) == (truth.end is None)
    if truth.end is not None:
        assert abs(minutes_of(row["until_ms"]) - truth.end) <= CLOSE
    assert [word for word in truth.words if word not in row["summary"]] == []
    assert row["action"]
    assert row["link"].partition("?")[0].startswith(("gpu/", "node/", "job/"))


def near(row: dict[str, Any], truth: Truth) -> bool:
    late = minutes_of(row["since_ms"]) - truth.begin
    return -CLOSE <= late <= SLOW.get(truth.name, CLOSE)


@pytest.mark.parametrize("minutes", [0, -20, -45, -61, -95, -138, -180, -265, -300])
def test_nothing_but_the_truth_is_found(demo: Demo, minutes: float) -> None:
    known = [truth for truth in truths() if truth.begin <= minutes]
    for row in found_at(demo, minutes):
        fits = [truth for truth in known if is_it(row, truth) and near(row, truth)]
        assert fits, row
        if row["until_ms"] is None:
            assert any(truth.end is None or truth.end + CLOSE >= minutes for truth in fits), row


@pytest.mark.parametrize("minutes", [-20, -61, -95, -180])
def test_what_was_wrong_then_is_found_then(demo: Demo, minutes: float) -> None:
    rows = [row for row in found_at(demo, minutes) if row["until_ms"] is None]
    for truth in truths():
        lag = LAGS.get(truth.name, CLOSE) + CLOSE
        if truth.begin + lag < minutes and (truth.end is None or truth.end > minutes):
            assert any(is_it(row, truth) for row in rows), truth


def test_link_leads_to_a_page_that_says_the_same(demo: Demo) -> None:
    for row in found_at(demo):
        path, _, at = row["link"].partition("?at=")
        page = demo.get("api/pages/" + _api(path), at=at)
        assert any(one["finding"] == row["finding"] for one in page["incidents"]), row["link"]


def _api(path: str) -> str:
    kind, _, rest = path.partition("/")
    return f"{kind}s/{rest}"


def test_cluster_counts_what_is_held_and_what_works(demo: Demo) -> None:
    page = demo.get("api/pages/cluster")
    gpus = sum(machine.gpus for machine in build_machines(16))
    held = {
        (place.node, gpu) for job in JOBS if job.end is None for place in job.places for gpu in place.gpus
    }
    numbers = {row["key"]: row for row in page["numbers"]}
    assert numbers["present"]["of"] == gpus
    assert numbers["present"]["value"] == gpus - 8 - 1  # a lost node, a lost GPU
    assert numbers["held"]["value"] == len(held) + 2  # two environments of genv
    assert len(page["numbers"]) <= 6
    assert len(page["incidents"]) == 8
    assert page["incidents_more"] == len(found_at(demo)) - 8
    assert page["simulated"] is True
    urgent = [row for row in found_at(demo) if row["until_ms"] is None and row["severity"] != "info"]
    assert page["verdict"]["sentence"].startswith(f"{len(urgent)} things need you.")
    assert page["verdict"]["state"] == "critical"
    cells = [cell for node in page["nodes"] for cell in node["cells"]]
    assert len(cells) == gpus
    assert {cell["health"] for cell in cells if cell["node"] == "gpu14"} == {"lost"}
    assert all(cell["busy"] is None for cell in cells if cell["health"] == "lost")


def test_lines_behind_numbers_answer_what_the_numbers_say(demo: Demo) -> None:
    for row in demo.get("api/pages/cluster")["numbers"]:
        (found,) = demo.query(row["query"], time=NOW_MS / 1000)
        assert float(found["value"][1]) == pytest.approx(row["value"]), row["key"]


def test_straggler_is_the_odd_rank_of_its_job(demo: Demo) -> None:
    page = demo.get("api/pages/jobs/4211")
    odd = page["ranks"][0]
    assert (odd["node"], odd["gpu"], odd["rank"]) == ("gpu03", "5", 21)
    assert "clock" in odd["odd"]
    assert [row["key"] for row in page["ladder"]] == ["held", "process", "busy", "sm", "tensor"]
    assert page["job"]["badge"] != ""
    known = [row["gpus"] for row in page["ladder"]]
    assert known == sorted(known, reverse=True)


def test_ranks_of_a_pipeline_differ_and_are_not_odd(demo: Demo) -> None:
    page = demo.get("api/pages/jobs/4230")
    assert [row["odd"] for row in page["ranks"]] == [[]] * 4


def test_waiting_job_is_told_why_and_what_is_free(demo: Demo) -> None:
    page = demo.get("api/pages/jobs/4245")
    assert "Resources" in page["verdict"]["sentence"]
    assert page["free"]["partition"] == "train"
    assert page["ladder"] == page["ranks"] == []


def test_finished_job_is_shown_as_it_was_at_its_end(demo: Demo) -> None:
    page = demo.get("api/pages/jobs/4224")
    assert page["job"]["state"] == "finished"
    assert "NODE_FAIL" in page["verdict"]["sentence"]
    assert sum(row["power"] is not None for row in page["ranks"]) == 7


def test_node_tells_its_sources_with_reasons_and_what_its_agent_costs(demo: Demo) -> None:
    page = demo.get("api/pages/nodes/cpu01")
    states = {row["source"]: row for row in page["sources"]}
    assert states["cpu"]["state"] == "ok"
    assert states["cpu"]["seconds"] > 0
    assert states["nvidia"]["state"] == "unavailable"
    assert "NVIDIA" in states["nvidia"]["reason"]
    assert page["node"]["agent"]["rss_bytes"] > 1e6
    assert page["node"]["agent"]["version"]


def test_gpu_tells_whose_it_was_and_what_is_wrong_with_it(demo: Demo) -> None:
    page = demo.get("api/pages/gpus/gpu08/2")
    assert [row["id"] for row in page["holders"]] == ["4224"]
    assert [row["where"]["xid"] for row in page["health"]["xids"]] == ["79"]
    assert page["cell"]["health"] == "lost"
    bad = demo.get("api/pages/gpus/gpu04/1")["health"]["facts"]
    assert {row["label"] for row in bad if row["state"] == "critical"} == {
        "Uncorrected memory errors",
        "Row remap pending",
    }


def test_amd_gpu_without_counters_says_what_is_missing(demo: Demo) -> None:
    page = demo.get("api/pages/jobs/4235")
    ladder = {row["key"]: row for row in page["ladder"]}
    assert ladder["busy"]["gpus"] > 7
    assert ladder["sm"]["gpus"] is None
    assert ladder["sm"]["reason"]


def test_user_sees_what_is_idle_and_how_to_give_it_back(demo: Demo) -> None:
    page = demo.get("api/pages/users/bob")
    idle = {row["command"]: row["cells"] for row in page["idle"]}
    assert len(idle["scancel 4236"]) == 4
    assert sum(day["held"] for day in page["days"]) == pytest.approx(page["numbers"][4]["value"], abs=0.1)
    assert page["days"][-1]["worked"] < page["days"][-1]["held"]


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("gpu03", "node", "gpu03"),
        ("gpu03:5", "gpu", "gpu03:5"),
        ("llm-70b", "job", "llm-70b"),
        ("4211", "job", "llm-70b"),
        ("carol", "user", "carol"),
        ("flap", "event", "InfiniBand link flapping"),
        ("vigie_gpu_power", "metric", "vigie_gpu_power_watts"),
        ("explore", "page", "explore"),
    ],
)
def test_search_finds(demo: Demo, text: str, kind: str, name: str) -> None:
    found = demo.get("api/search", q=text)["found"]
    assert (kind, name) in [(row["kind"], row["name"]) for row in found]
    assert len(found) <= 30


def test_server_over_another_engine_shows_what_samples_tell_and_says_what_is_missing(
    demo: Demo, tmp_path: Path
) -> None:
    port = free_port()
    flags = [f"--listen=127.0.0.1:{port}", f"--store={demo.address}", f"--data={tmp_path}"]
    process = subprocess.Popen([sys.executable, "-m", "vigie", "server", *flags], stderr=subprocess.DEVNULL)
    try:
        other, at = Demo(port), f"{NOW_MS / 1000:.0f}"
        page = until(lambda: other.get("api/pages/cluster", at=at), "the server answers")
        (usage,) = re.findall(r"\d+ of \d+ GPUs held,.* idle\.", page["verdict"]["sentence"])
        assert usage in demo.get("api/pages/cluster")["verdict"]["sentence"]
        assert "--store" in page["missing"]
        wanted = {"gpu-throttled", "row-remap-pending", "data-starved", "rank-hung", "idle-holder"}
        until(
            lambda: (
                {row["finding"] for row in other.get("api/pages/incidents", at=at)["incidents"]} >= wanted
            ),
            "the samples of the last hours were looked at",
        )
        assert other.get("api/pages/nodes/gpu03", at=at)["sources"]
    finally:
        process.terminate()
        process.wait(60)


def test_diagnoses_are_told(demo: Demo) -> None:
    told = {row["name"]: row for row in demo.get("api/findings")["findings"]}
    assert "vigie_gpu_throttled" in told["gpu-throttled"]["when"]
    assert "xid" in told["xid"]["when"]
