"""Real PyTorch on two agents: traced together, the slow rank named; stuck, its stacks tell."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.programs import free_port

from tests.real.waiting import until

TORCH = Path(__file__).parents[2] / ".venv-torch" / "bin" / "python"
TRAINER = Path(__file__).with_name("trainer.py")
JOB = "4711"
RANKS, ODD = 4, 2
MAX_SPREAD_MS = 50
START_SECONDS = 180.0  # four ranks import torch on whatever machine this is


def need_torch() -> str:
    if TORCH.exists():
        return str(TORCH)
    message = "PyTorch is not installed; CI=true scripts/peers installs it into .venv-torch"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


class Cluster:
    """A server with its agent, a second agent, and a directory for trainers on each."""

    def __init__(self, home: Path, stack: contextlib.ExitStack) -> None:
        self._home, self._stack = home, stack
        self.directories = [Path("/tmp") / f"kineto{uuid.uuid4().hex[:8]}" for _ in range(2)]
        for directory in self.directories:
            directory.mkdir()
            stack.callback(_remove_directory, directory)
        self.port = free_port()
        self._start(
            ["up", f"--listen=127.0.0.1:{self.port}", f"--data={home}/data"], self.directories[0], "up"
        )
        until(lambda: self.nodes() == 1, "a node")
        token = (home / "data" / "join-token").read_text().strip()
        flags = [f"--server=http://127.0.0.1:{self.port}", f"--listen=127.0.0.1:{free_port()}", "--node=n2"]
        self._start(["agent", *flags, f"--data={home}/n2"], self.directories[1], "n2", VIGIE_TOKEN=token)
        until(lambda: self.nodes() == 2, "a second node")

    def _start(self, command: list[str], directory: Path, name: str, **environment: str) -> None:
        log = self._stack.enter_context((self._home / f"{name}.log").open("wb"))
        own = {**os.environ, "VIGIE_TRACE_SOCKET_DIRS": str(directory), **environment}
        process = subprocess.Popen([sys.executable, "-m", "vigie", *command], env=own, stdout=log, stderr=log)
        self._stack.callback(_end, process)

    def vigie(self, *command: str) -> str:
        flags = [f"--server=http://127.0.0.1:{self.port}", f"--data={self._home}/data"]
        done = subprocess.run(
            [sys.executable, "-m", "vigie", *command, *flags], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def nodes(self) -> int:
        try:
            return len(json.loads(self.vigie("nodes", "list", "--json"))["nodes"])
        except AssertionError:
            return 0  # not up yet

    def train(self, mode: str, *, workers: int = 0, traceable: bool = True) -> None:
        """Start the ranks, half on each agent, and wait until they train."""
        fifo = self._home / "fifo"
        if not fifo.exists():
            os.mkfifo(fifo)
        common = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "WORLD_SIZE": str(RANKS),
            "MODE": mode,
            "WORKERS": str(workers),
            "FIFO": str(fifo),
            "SLURM_JOB_ID": JOB,
        }
        processes = []
        for rank in range(RANKS):
            own = {**common, "RANK": str(rank)}
            if traceable:
                own["KINETO_USE_DAEMON"] = "1"
                own["KINETO_IPC_SOCKET_DIR"] = str(self.directories[rank // 2])
            log = self._stack.enter_context((self._home / f"rank{rank}.log").open("wb"))
            process = subprocess.Popen([need_torch(), str(TRAINER)], env=own, stdout=log, stderr=log)
            self._stack.callback(_end, process)
            processes.append(process)
        first = self._home / "rank0.log"
        until(
            lambda: b"training" in first.read_bytes() or any(p.poll() is not None for p in processes),
            "training",
            START_SECONDS,
        )
        assert all(process.poll() is None for process in processes), first.read_text()

    def trace(self, *flags: str) -> Any:
        until(lambda: len(self._trainers()) == RANKS, "all ranks registered")
        return json.loads(self.vigie("trace", "start", "--job", JOB, "--json", *flags))

    def _trainers(self) -> list[Any]:
        return list(json.loads(self.vigie("trace", "trainers", "--job", JOB, "--json"))["trainers"])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _remove_directory(directory: Path) -> None:
    for file in directory.iterdir():
        file.unlink(missing_ok=True)
    directory.rmdir()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    need_torch()
    with contextlib.ExitStack() as stack:
        yield Cluster(tmp_path, stack)


def test_four_ranks_on_two_agents_start_together_and_the_slow_one_is_named(cluster: Cluster) -> None:
    cluster.train("slow-compute")
    traced = cluster.trace("--duration=400")
    assert [rank["state"] for rank in traced["session"]["ranks"]] == ["collected"] * RANKS, traced
    assert {rank["node"] for rank in traced["session"]["ranks"]} != {"n2"}
    starts = [summary["start_ns"] / 1e6 for summary in traced["summaries"].values()]
    assert max(starts) - min(starts) < MAX_SPREAD_MS
    assert (traced["comparison"]["slow_rank"], traced["comparison"]["cause"]) == (ODD, "compute")


def test_iterations_are_traced_and_slow_loading_is_told_from_slow_compute(cluster: Cluster) -> None:
    cluster.train("slow-data")
    traced = cluster.trace("--iterations=6")
    assert [rank["state"] for rank in traced["session"]["ranks"]] == ["collected"] * RANKS, traced
    assert all(summary["steps"]["count"] >= 4 for summary in traced["summaries"].values())
    assert (traced["comparison"]["slow_rank"], traced["comparison"]["cause"]) == (ODD, "outside")


@pytest.mark.parametrize(("mode", "workers"), [("stuck-data", 0), ("stuck-data", 2), ("stuck-collective", 0)])
def test_stacks_name_the_stuck_rank_of_a_job_that_was_not_started_for_it(
    cluster: Cluster, mode: str, workers: int
) -> None:
    cluster.train(mode, workers=workers, traceable=False)

    function = "read_shard" if mode == "stuck-data" else ""

    def is_named() -> bool:
        report = json.loads(cluster.vigie("trace", "stacks", "--job", JOB, "--json"))["report"]
        first = report["groups"][0]
        told = [first["place"], *first["workers"]]
        return report["odd_ranks"] == [ODD] == first["ranks"] and any(function in place for place in told)

    until(is_named, "the stuck rank named", START_SECONDS)
