"""`vigie demo`: hours of history behind the real server, the same for the same seed and moment, then live."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from bench.programs import free_port

from tests.real.waiting import until

pytestmark = pytest.mark.process

NOW = "2026-11-01T12:00:00Z"
NOW_S = 1_793_534_400
HISTORY = "3h"


class Demo:
    """A running demo, and what it answers."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def get(self, path: str, **parameters: object) -> Any:
        with urlopen(f"{self.address}/{path}?{urlencode(parameters)}", timeout=30) as answer:
            return json.loads(answer.read())

    def query(self, query: str, **parameters: object) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("api/v1/query", query=query, **parameters)["data"]["result"]
        return found

    def value(self, query: str, minutes: float = 0) -> float:
        """Return the only value of a query, so many minutes from the demo's now."""
        [series] = self.query(query, time=NOW_S + minutes * 60)
        return float(series["value"][1])


@contextlib.contextmanager
def running(data: Path, *flags: str) -> Iterator[Demo]:
    port = free_port()
    command = [sys.executable, "-m", "vigie", "demo", f"--listen=127.0.0.1:{port}", f"--data={data}", *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    demo = Demo(port)
    try:
        until(lambda: demo.query("up"), "the demo answers")
        yield demo
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A demo whose clock stands still."""
    with running(tmp_path_factory.mktemp("demo"), f"--now={NOW}", f"--history={HISTORY}") as demo:
        yield demo


def test_same_seed_and_moment_give_the_same_answers(still: Demo, tmp_path: Path) -> None:
    asked = [
        "sum by (instance) (vigie_gpu_power_watts)",
        "sum by (mode) (rate(node_cpu_seconds_total[5m]))",
        "histogram_quantile(0.9, sum by (le) (vigie_gpu_busy_ratio))",
        "up",
    ]
    span = {"start": NOW_S - 3 * 3600, "end": NOW_S, "step": 300}
    with running(tmp_path, f"--now={NOW}", f"--history={HISTORY}") as again:
        for query in asked:
            first, second = (demo.get("api/v1/query_range", query=query, **span) for demo in (still, again))
            assert first["data"] == second["data"]
        for path in ("api/jobs", "api/bindings", "api/users"):
            assert still.get(path, limit=500) == again.get(path, limit=500)


def test_nodes_are_up_but_for_the_one_that_is_lost(still: Demo) -> None:
    states = {node["name"]: node["state"] for node in still.get("api/nodes")["nodes"]}
    assert [name for name, state in states.items() if state != "up"] == ["gpu14"]
    assert states["gpu14"] == "lost"
    assert still.value('count(up{job="node"} == 1)') == 15
    assert not still.query('up{instance="gpu14"} == 1', time=NOW_S)


def test_incidents_are_in_metrics_events_and_bindings_at_their_times(still: Demo) -> None:
    assert still.value('vigie_gpu_throttled{instance="gpu03",gpu="5",reason="hw_power_brake"}', -51) == 0
    assert still.value('vigie_gpu_throttled{instance="gpu03",gpu="5",reason="hw_power_brake"}', -49) == 1
    assert still.query('vigie_gpu_info{instance="gpu08",gpu="2"}', time=NOW_S - 36 * 60)
    assert not still.query('vigie_gpu_info{instance="gpu08",gpu="2"}', time=NOW_S - 34 * 60)
    [fell] = still.get("api/events", kind="xid", node="gpu08")["events"]
    assert fell["begin_ms"] == (NOW_S - 35 * 60) * 1000
    assert fell["where"]["xid"] == "79"
    [lost] = still.get("api/events", kind="node_lost", node="gpu14")["events"]
    assert 0 <= (NOW_S - 55 * 60) * 1000 - lost["begin_ms"] <= 15_000
    [killed] = still.get("api/events", kind="oom_kill")["events"]
    assert killed["begin_ms"] == (NOW_S - 8 * 60) * 1000
    job = next(job for job in still.get("api/jobs", limit=100)["jobs"] if job["id"] == "4224")
    assert (job["state"], job["end_ms"]) == ("finished", (NOW_S - 33 * 60) * 1000)


def test_waiting_jobs_have_their_reasons(still: Demo) -> None:
    waiting = still.get("api/jobs", state="waiting")["jobs"]
    assert {job["facts"]["reason"] for job in waiting} == {
        "Resources",
        "Priority",
        "ReqNodeNotAvail",
        "Dependency",
    }


def test_live_nodes_go_on_where_the_history_ends(tmp_path: Path) -> None:
    with running(tmp_path, "--nodes=3", "--history=10m") as demo:
        answered = time.time()
        fresh = f"min(timestamp(vigie_gpu_power_watts)) > bool {answered}"
        until(lambda: demo.query(fresh)[0]["value"][1] == "1", "live frames come")
        assert demo.get("api/events", kind="node_rejoined")["events"] == []
        assert float(demo.query("min(delta(DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[5m]))")[0]["value"][1]) > 0


def test_demo_without_a_directory_leaves_nothing_behind(tmp_path: Path) -> None:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "vigie",
        "demo",
        f"--listen=127.0.0.1:{port}",
        "--nodes=1",
        "--history=1m",
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        until(lambda: Demo(port).query("up"), "the demo answers")
        assert list(tmp_path.glob("vigie-demo-*/store"))
    finally:
        process.terminate()
    assert process.wait(60) == 0
    assert list(tmp_path.glob("vigie-demo-*")) == []


def test_truth_is_told_as_json() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "vigie", "demo", "--truth"], capture_output=True, check=True, timeout=60
    )
    incidents = json.loads(said.stdout)
    assert len(incidents) >= 10
    assert {"id", "kind", "node", "begin", "end", "truth"} <= incidents[0].keys()
