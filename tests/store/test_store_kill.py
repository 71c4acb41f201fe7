from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.store.frames import Model, answer, frame
from tests.store.ingest_program import HEAD_LIMITS, NODES, times_of, values
from vigie.store.store import Store

pytestmark = pytest.mark.process

ROUNDS = int(os.environ.get("VIGIE_KILL_ROUNDS", "6"))
ROOT = Path(__file__).parents[2]


def test_every_acknowledged_frame_survives_kill_nine(tmp_path: Path) -> None:
    chance = random.Random()
    acknowledged: list[int] = []
    for number in range(ROUNDS):
        if number % 10 == 0:
            directory = tmp_path / str(number)  # again, for the check reads everything
            acknowledged = []
        # The frame under way comes again, whether it was stored or not.
        first = acknowledged[-1] + 1 if acknowledged else 1000
        acknowledged += ingest_and_kill(directory, first, chance.randrange(1, 60), chance.random() * 0.003)
        check(directory, acknowledged)


def ingest_and_kill(directory: Path, first: int, steps: int, after: float) -> list[int]:
    """Return the steps that the child acknowledged before it was killed."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "tests.store.ingest_program", str(directory), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(steps)]
        try:
            child.wait(after)  # so that the kill falls anywhere within a step, not right behind a sync
        except subprocess.TimeoutExpired:
            pass
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
    return [int(line) for line in lines if line.endswith("\n")]


def check(directory: Path, acknowledged: list[int]) -> None:
    """Every frame that was acknowledged is there bit for bit, and nothing else but the one under way."""
    with Store(directory, head_limits=HEAD_LIMITS) as store:
        found = answer(store)
        assert store.check() == []
    there = {node: set[int]() for node in NODES}
    for series, samples in found.items():
        there[dict(series)["instance"]] |= samples.keys()
    must = {time for step in acknowledged for time in times_of(step)}
    may = must | set(times_of(acknowledged[-1] + 1))
    model = Model()
    for node in NODES:
        assert must <= there[node] <= may
        for time in there[node]:
            model.append({"instance": node, "job": "node"}, frame(time, *values(node, time)))
    assert found == model.answer()
