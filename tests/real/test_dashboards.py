"""Every question of every dashboard, on the demo's samples and on this host: as a real Prometheus answers."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np
import pytest
from bench.programs import free_port, running

from tests.dashboards.asking import all_questions
from tests.real.conftest import get
from tests.real.test_promql import Peer, Question, difference, prometheus_line
from tests.real.waiting import until
from vigie.cli.demo import build_cluster
from vigie.model.nan import ABSENT_BITS
from vigie.query.engine import Engine
from vigie.query.label_table import NAME
from vigie.query.limits import QueryLimits
from vigie.query.semantics import Semantics
from vigie.query.storage import Matcher, Storage
from vigie.simulation.cluster.history import write_history
from vigie.simulation.cluster.machines import build_machines
from vigie.simulation.cluster.scenario import Scenario
from vigie.store.filesystem import STORE_DIRECTORY
from vigie.store.store import Store
from vigie.wire.remote_write.write_request import Series

NOW = 1_794_808_800_000
HISTORY = 20 * 60_000
OFF = 500  # ms from the samples, as when a page asks
BATCH = 400  # series
# On a machine whose disks nobody uses in that time, a request has no length.
QUIET = {"node/Disk latency/0", "node/Disk latency/1"}
HOST = ("node", "page-node")


class Sides(NamedTuple):
    """A Prometheus and our engine over the same samples."""

    peer: Peer
    engine: Engine


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """Yield both sides with the last minutes of the simulated cluster."""
    folder = tmp_path_factory.mktemp("dashboards")
    scenario = Scenario(build_machines(16, 8), NOW, 1)
    write_history(scenario, build_cluster(scenario), folder / "data", HISTORY)
    with Store(folder / "data" / STORE_DIRECTORY) as store, both(folder, store, NOW - HISTORY, NOW) as sides:
        yield sides


@contextlib.contextmanager
def both(folder: Path, store: Storage, start: int, end: int) -> Iterator[Sides]:
    """Give a Prometheus all that a store has between two times."""
    port = free_port()
    with running(prometheus_line(folder, port), port, "/"), contextlib.closing(Peer(port)) as peer:
        peer.wait()
        for batch in batches(store, start, end):
            peer.write(batch)
        yield Sides(peer, Engine(store, QueryLimits(), Semantics.PROMETHEUS_2))


def batches(store: Storage, start: int, end: int) -> Iterator[list[Series]]:
    """Yield all series of a store, some at a time."""
    batch: list[Series] = []
    for group in store.select([Matcher(NAME, "!=", "")], start, end):
        for labels, values in zip(group.labels, group.values, strict=True):
            there = np.ascontiguousarray(values).view(np.uint64) != ABSENT_BITS
            if there.any():
                batch.append((labels, group.times[there].tolist(), values[there].tolist()))
            if len(batch) >= BATCH:
                yield batch
                batch = []
    yield batch


def test_questions_of_dashboards_get_the_answers_of_prometheus_on_the_demo(demo: Sides) -> None:
    wrong, empty = compared(demo, NOW - HISTORY, NOW)
    assert wrong == []
    assert len(empty) < 20


def test_questions_of_dashboards_get_the_answers_of_prometheus_on_this_host(tmp_path: Path) -> None:
    start = time.time_ns() // 1_000_000
    watched(tmp_path)
    end = time.time_ns() // 1_000_000
    with (
        Store(tmp_path / "data" / STORE_DIRECTORY) as store,
        both(tmp_path, store, start - 60_000, end) as sides,
    ):
        wrong, empty = compared(sides, start, end)
    assert wrong == []
    always = {one.id for one in all_questions() if one.board.slug in HOST and not one.panel.needs}
    always |= {one.id for one in all_questions() if one.board.slug == "itself"}
    assert always & set(empty) <= QUIET


def watched(home: Path) -> None:
    """Let a server and an agent watch this host for some ticks, and end them."""
    command = [sys.executable, "-m", "vigie", "up", "--listen=127.0.0.1:0", f"--data={home}/data"]
    environment = {**os.environ, "VIGIE_AGENT_CADENCE": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().strip()
        for series in ("vigie_server_requests_total", "node_load1"):
            twice = quote(f"count_over_time({series}[5m]) >= 2")
            until(partial(answer, f"{address}/api/v1/query?query={twice}"), f"{series} was stored twice")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def answer(url: str) -> list[object]:
    """Return the series of an answer."""
    found: list[object] = json.loads(get(url))["data"]["result"]
    return found


def compared(sides: Sides, start: int, end: int) -> tuple[list[str], list[str]]:
    """Return in what the answers differ, and which questions have no answer at all."""
    wrong, empty = [], []
    for one in all_questions():
        answers = 0
        span = Question(one.text, start + OFF, end + OFF, 60_000)
        for question in (span, span._replace(start=end + OFF, step=0)):
            theirs = question.of_peer(sides.peer)
            found = difference(question, theirs, question.of_engine(sides.engine), sides.engine)
            answers += len(theirs.series)
            if found:
                wrong.append(f"{one.id}: {found}")
        if not answers:
            empty.append(one.id)
    return wrong, empty
