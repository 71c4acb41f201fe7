"""A running agent on a simulated NVIDIA driver: its pages, its doctor, a release, and a driver that hangs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.programs import Program, free_port, running

from tests.expositions import parse
from tests.real.conftest import get, need
from tests.real.waiting import until
from vigie.simulation.nvml import gpu_models
from vigie.simulation.nvml.build import build
from vigie.simulation.nvml.driver import SimulatedDriver


class Node:
    """An agent, and the driver that it reads."""

    def __init__(self, program: Program, port: int, driver: SimulatedDriver, socket: str) -> None:
        self.driver = driver
        self._pid, self._address = program.pid, f"http://127.0.0.1:{port}"
        self._environment = {**os.environ, "VIGIE_AGENT_SOCKET": socket}

    def source(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(get(f"{self._address}/status"))["sources"][name]
        return found

    def series(self, name: str) -> list[dict[str, str]]:
        """Return the labels of the series of a name."""
        found = parse(get(f"{self._address}/metrics")).values
        return [dict(labels) for each, labels in found if each == name]

    def holds_the_driver(self) -> bool:
        links = Path(f"/proc/{self._pid}/fd").iterdir()
        return any(link.exists() and link.resolve() == self.driver.device.resolve() for link in links)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vigie", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=self._environment)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    need("cc")
    driver = SimulatedDriver(tmp_path / "driver", build(tmp_path), gpu_models.h100())
    port = free_port()
    command = [sys.executable, "-m", "vigie", "agent", f"--listen=127.0.0.1:{port}", "--cadence=1"]
    command += [f"--nvml-library={driver.library}", f"--data={tmp_path}/data"]
    command += ["--sources", "nvidia,nvidia_health,nvidia_profiling,cpu,filesystem"]
    with tempfile.TemporaryDirectory() as short:  # the path of a socket has room for few letters
        socket = f"{short}/agent.sock"
        with running([*command, f"--socket={socket}"], port, "/metrics") as program:
            yield Node(program, port, driver, socket)


def test_gpus_are_on_the_page_with_dcgms_names(node: Node) -> None:
    until(lambda: node.source("nvidia_profiling")["series"] == 8 * 16, "profiling counters")
    temperatures = node.series("DCGM_FI_DEV_GPU_TEMP")
    assert sorted(labels["gpu"] for labels in temperatures) == list("01234567")
    assert not [labels for labels in temperatures if "GPU_I_ID" in labels]
    assert "GPU 0-7: not supported" in node.source("nvidia_health")["notes"]["DCGM_FI_DEV_FAN_SPEED"]


def test_release_leaves_no_handle_open_and_ends_by_command(node: Node) -> None:
    until(lambda: node.source("nvidia")["series"], "GPUs")
    assert node.holds_the_driver()
    said = node.command("gpus", "release", "--for", "1h")
    assert (said.returncode, said.stdout.startswith("released by ")) == (0, True), said.stderr
    assert not node.holds_the_driver()
    until(lambda: "released by" in (node.source("nvidia")["reason"] or ""), "the release in /status")
    assert not node.holds_the_driver()
    assert node.command("gpus", "take").returncode == 0
    until(lambda: node.source("nvidia")["series"], "GPUs again")


def test_driver_that_hangs_stops_no_other_source(node: Node) -> None:
    until(lambda: node.source("nvidia")["series"], "GPUs")
    node.driver.set("* hang.* 600")
    until(lambda: not node.source("nvidia")["series"], "no GPUs")
    read = {name: node.source(name)["seconds_total"] for name in ("cpu", "filesystem")}
    until(lambda: all(node.source(name)["seconds_total"] > read[name] for name in read), "all read again")
    node.driver.clear("* hang.* 600")
    until(lambda: node.source("nvidia")["series"], "GPUs again")


def test_doctor_says_why_something_is_absent(node: Node) -> None:
    words = ("doctor", "--sources", "nvidia_health", f"--nvml-library={node.driver.library}")
    assert "DCGM_FI_DEV_FAN_SPEED: GPU 0-7: not supported by this GPU" in node.command(*words).stdout
    words = ("doctor", "--sources", "nvidia", "--nvml-library=libnone.so.1")
    assert "no NVIDIA driver: libnone.so.1" in node.command(*words).stdout
