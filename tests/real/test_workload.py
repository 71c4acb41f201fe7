"""A process of another user, in a real container, in a job's cgroup, with a genv id, on a simulated GPU.

What the agent finds goes over a real link to a real server, and comes out where people look.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from bench.programs import free_port

from tests.dashboards.asking import questions
from tests.real.conftest import get
from tests.real.containers import LIMITS, Runtime, disk_limits, running_docker
from tests.real.waiting import until
from vigie.dashboards import all_dashboards
from vigie.simulation.nvml import gpu_models
from vigie.simulation.nvml.build import NoCompilerError, build
from vigie.simulation.nvml.driver import SimulatedDriver

NOBODY = "65534"
JOB, ENVIRONMENT = "4711", "42"
SLURM = f"/slurm_vigie{os.getpid()}"
PARENT = f"{SLURM}/uid_{NOBODY}/job_{JOB}/step_0"
BURN = (
    "dd if=/dev/zero of=/tmp/f bs=1M count=8 oflag=direct; dd if=/tmp/f of=/dev/null bs=1M iflag=direct; "
    "while :; do :; done"
)
# What only a kernel with pressure for this version of cgroups can tell.
PRESSURE = {"containers/Waiting for CPU/0", "containers/Waiting for I/O/0"}


class Cluster(NamedTuple):
    """A server with one node, and the node's runtime and driver."""

    url: str
    runtime: Runtime
    driver: SimulatedDriver
    socket: Path

    def bindings(self, **filters: str) -> list[dict[str, Any]]:
        """Return what the server knows of who holds what."""
        query = "&".join(f"{name}={quote(word)}" for name, word in filters.items())
        found: list[dict[str, Any]] = json.loads(get(f"{self.url}/api/bindings?{query}"))["bindings"]
        return found

    def ask(self, promql: str) -> list[Any]:
        """Return the series that a query gives."""
        found: list[Any] = json.loads(get(f"{self.url}/api/v1/query?query={quote(promql)}"))["data"]["result"]
        return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A server, an agent on this machine with eight simulated GPUs, and a dockerd."""
    home = Path(tmp_path_factory.mktemp("w"))
    try:
        driver = SimulatedDriver(home / "driver", build(home / "built"), gpu_models.h100())
    except NoCompilerError as error:
        pytest.skip(str(error))
    url = f"http://127.0.0.1:{free_port()}"
    base = [sys.executable, "-m", "vigie"]
    with running_docker() as runtime, contextlib.ExitStack() as stack:
        flags = ["--listen", url.removeprefix("http://"), "--data", str(home / "server")]
        stack.enter_context(_program([*base, "server", *flags]))
        until(lambda: get(f"{url}/readyz"), "the server is ready")
        flags = ["--server", url, "--token-file", str(home / "server/join-token"), "--node", "n1"]
        flags += ["--listen", f"127.0.0.1:{free_port()}", "--data", str(home / "agent"), "--cadence", "1"]
        flags += ["--nvml-library", str(driver.library)]
        for source in ("containers", "gpu_holders"):
            flags += ["--option", f"{source}.sockets={runtime.socket}"]
        flags += ["--option", "containers.disk_usage=2"]
        socket = home / "agent.sock"
        stack.enter_context(_program([*base, "agent", *flags], VIGIE_AGENT_SOCKET=str(socket)))
        until(
            lambda: socket.is_socket() and json.loads(get(f"{url}/api/nodes"))["nodes"], "the agent is linked"
        )
        yield Cluster(url, runtime, driver, socket)


@contextlib.contextmanager
def _program(command: list[str], **environ: str) -> Iterator[None]:
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **environ})
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def _training(cluster: Cluster) -> Iterator[str]:
    """Run a container in a job's cgroup as another user, computing on GPU 3, and give its process."""
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_cgroups)
        variables = ("-e", f"GENV_ENVIRONMENT_ID={ENVIRONMENT}", "-e", "SLURM_JOB_NAME=llm")
        whose = ("--user", NOBODY, "--cgroup-parent", PARENT, "--tmpfs", "/run")
        writable = ("-v", "/var/tmp:/tmp")
        flags = (*LIMITS, *variables, *whose, *writable, *disk_limits())
        stack.enter_context(cluster.runtime.container("train", BURN, *flags))
        pid = cluster.runtime.run("inspect", "--format", "{{.State.Pid}}", "train")
        line = f"3 process.0 {pid} {2 << 30}"
        cluster.driver.set(line)
        stack.callback(cluster.driver.clear, line)
        _give_network(pid)
        yield pid


def _give_network(pid: str) -> None:
    for command in (
        ["link", "add", "eth0", "type", "veth", "peer", "name", "peer0"],
        ["link", "set", "peer0", "up"],
        ["link", "set", "eth0", "up"],
    ):
        subprocess.run(["nsenter", "-t", pid, "-n", "ip", *command], check=True, timeout=30)


def _remove_cgroups() -> None:
    for top in _tops():
        for path in sorted(top.rglob("*"), key=lambda one: -len(one.parts)):
            if path.is_dir():
                with contextlib.suppress(OSError):
                    path.rmdir()
        with contextlib.suppress(OSError):
            top.rmdir()


def _tops() -> list[Path]:
    trees = [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()]
    return [tree / SLURM.strip("/") for tree in trees if (tree / SLURM.strip("/")).is_dir()]


def test_process_is_attributed_to_its_user_job_container_and_environment(cluster: Cluster) -> None:
    with _training(cluster):
        held = until(lambda: _held(cluster, 3), "all three holders of GPU 3 are known")
        assert {kind: (row["holder"], row["user"]) for kind, row in held.items()} == {
            "job": (JOB, "nobody"),
            "container": ("train", "nobody"),
            "environment": (ENVIRONMENT, "nobody"),
        }
        assert held["job"]["facts"]["name"] == "llm"
        assert held["container"]["facts"]["image"] == "local/busy:1.0"
        (job,) = json.loads(get(f"{cluster.url}/api/jobs?job={JOB}"))["jobs"]
        assert (job["state"], job["user"], job["gpus"], job["name"]) == ("running", "nobody", ["n1:3"], "llm")
        command = [sys.executable, "-m", "vigie", "who", "--server", cluster.url, "--gpu", "3"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        assert f"job {JOB}" in said
        assert "container train" in said
    until(lambda: not cluster.bindings(gpu="3", state="held"), "they have ended with the process")


def _held(cluster: Cluster, gpu: int) -> dict[str, dict[str, Any]]:
    rows = {row["kind"]: row for row in cluster.bindings(gpu=str(gpu), state="held")}
    return rows if {"job", "container", "environment"} <= set(rows) else {}


def test_job_named_by_hand_holds_until_it_is_cleared(cluster: Cluster) -> None:
    def vigie(*words: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "VIGIE_AGENT_SOCKET": str(cluster.socket)}
        command = [sys.executable, "-m", "vigie", "job", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environ)

    assert (
        vigie("set", "pbs-9", "--gpus", "5,6", "--user", "ada").stdout == "job pbs-9 has GPU 5,6, user ada\n"
    )
    rows = until(lambda: cluster.bindings(job="pbs-9", state="held"), "the job is known")
    assert sorted((row["gpu"], row["user"], row["source"]) for row in rows) == [
        ("5", "ada", "manual"),
        ("6", "ada", "manual"),
    ]
    assert vigie("clear", "pbs-9").returncode == 0
    until(lambda: not cluster.bindings(job="pbs-9", state="held"), "the job has ended")
    assert vigie("clear", "pbs-9").returncode == 1


def test_no_panel_about_containers_or_jobs_is_empty(cluster: Cluster) -> None:
    boards = [board for board in all_dashboards() if board.slug in ("containers", "jobs")]
    asked = [one for board in boards for one in questions(board, __rate_interval="1m")]
    with _training(cluster):
        until(lambda: _held(cluster, 3), "GPU 3 is held")
        empty = {one.id for one in asked}

        def filled() -> bool:
            for one in asked:
                if one.id in empty and cluster.ask(one.text):
                    empty.discard(one.id)
            return empty <= PRESSURE

        with contextlib.suppress(pytest.fail.Exception):
            until(filled, "every panel shows something")
        told = {
            labels["metric"]["__name__"]
            for labels in cluster.ask('{__name__=~"container_pressure.+",name!=""}')
        }
    allowed = set() if told else PRESSURE
    assert empty <= allowed, f"these panels are empty: {sorted(empty)}"
