"""`vigie monitor` beside the real genv: the same state, the same GPUs, the same series."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from bench.programs import free_port

from tests.real.conftest import get, need
from tests.real.waiting import until
from vigie.simulation.nvml.build import NoCompilerError, build
from vigie.simulation.nvml.driver import SimulatedDriver
from vigie.simulation.nvml.gpu_models import h100

MIB = 1 << 20
GPUS = 4
USED = (3, 103, 203, 303)  # MiB
FILES = {
    "prometheus/prometheus.yml",
    "grafana/grafana.ini",
    "grafana/provisioning/datasources/default.yml",
    "grafana/provisioning/dashboards/default.yml",
    "grafana/dashboards/overview.json",
}
NVIDIA_SMI = """#!/bin/sh
case "$*" in
  *index,utilization*) cat "{0}/gpus" ;;
  *compute-apps*) cat "{0}/processes" ;;
  *uuid,index*) cat "{0}/uuids" ;;
  *query-gpu=memory.total*) cat "{0}/totals" ;;
  *) cat "{0}/indices" ;;
esac
"""


class Machine(NamedTuple):
    """Simulated GPUs, told by NVML and by an nvidia-smi, with processes that only wait."""

    directory: Path
    library: Path
    environ: dict[str, str]
    processes: dict[str, subprocess.Popen[bytes]]

    def genv(self, *arguments: str) -> str:
        """Return what a command of genv prints."""
        return subprocess.run(
            [need("genv"), *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env=self.environ,
        ).stdout


def _sleeper(eid: str = "") -> subprocess.Popen[bytes]:
    more = {"GENV_ENVIRONMENT_ID": eid} if eid else {}
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GENV_")}
    return subprocess.Popen(["sleep", "600"], env={**plain, **more})


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Make a machine with two processes in the environment 42 and one outside."""
    need("genv")
    try:
        library = build(tmp_path / "nvml")
    except NoCompilerError as error:
        pytest.skip(str(error))
    processes = {"first": _sleeper("42"), "second": _sleeper("42"), "outside": _sleeper()}
    first, second, outside = (processes[name].pid for name in ("first", "second", "outside"))
    held = [(0, first, 1024), (1, first, 2048), (1, second, 33), (3, outside, 77)]
    script = [*h100(), f"system count {GPUS}", "system clock 0"]
    for gpu in range(GPUS):
        script += [f"{gpu} utilization.gpu {5 + 10 * gpu}", f"{gpu} temperature.gpu {40 + gpu}"]
        script += [f"{gpu} memory.used {USED[gpu] * MIB}", f"{gpu} memory.total {81559 * MIB}"]
        on = [(pid, mib) for index, pid, mib in held if index == gpu]
        script += [f"{gpu} process.{place} {pid} {mib * MIB}" for place, (pid, mib) in enumerate(on)]
    driver = SimulatedDriver(tmp_path / "driver", library, script)
    _tell_nvidia_smi(tmp_path, held)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "GENV_TMPDIR": str(tmp_path / "state")}
    environ["VIGIE_GPUS_NVML_LIBRARY"] = str(driver.library)
    try:
        yield Machine(tmp_path, driver.library, environ, processes)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def _tell_nvidia_smi(directory: Path, held: list[tuple[int, int, int]]) -> None:
    rows = {
        "gpus": [f"{gpu}, {5 + 10 * gpu}, {40 + gpu}, {USED[gpu]}, 81559" for gpu in range(GPUS)],
        "uuids": [f"GPU-{gpu}, {gpu}" for gpu in range(GPUS)],
        "processes": [f"GPU-{gpu}, {pid}, {mib}" for gpu, pid, mib in held],
        "totals": ["81559"] * GPUS,
        "indices": [str(gpu) for gpu in range(GPUS)],
    }
    for name, lines in rows.items():
        (directory / name).write_text("".join(f"{line}\n" for line in lines))
    smi = directory / "nvidia-smi"
    smi.write_text(NVIDIA_SMI.format(directory))
    smi.chmod(stat.S_IRWXU)


@pytest.fixture
def monitors(machine: Machine) -> Iterator[tuple[str, str]]:
    """Run genv's monitor and ours; give the addresses of their metrics."""
    machine.genv(
        *("envs", "activate", "--eid", "42", "--uid", "1000", "--username", "alice"),
        *("--pid", str(machine.processes["first"].pid)),
    )
    machine.genv("devices", "attach", "--eid", "42", "--count", "2")
    theirs, ours = free_port(), free_port()
    started = [
        subprocess.Popen(
            [*command, "monitor", "-p", str(port), "-i", "1", "--config-dir", str(machine.directory / name)],
            env=machine.environ,
        )
        for command, port, name in (
            ([need("genv")], theirs, "theirs"),
            ([sys.executable, "-m", "vigie"], ours, "ours"),
        )
    ]
    try:
        yield f"http://127.0.0.1:{theirs}/metrics", f"http://127.0.0.1:{ours}/metrics"
    finally:
        for process in started:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    assert started[1].returncode == 0


def _series(text: str) -> dict[tuple[str, frozenset[str]], float]:
    """Return the samples by name and labels; an empty label is the same as none."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            name, _, labels = series.partition("{")
            pairs = labels.rstrip("}").split(",")
            found[name, frozenset(pair for pair in pairs if pair and not pair.endswith('=""'))] = float(value)
    return found


def test_series_equal_those_of_genvs_own_monitor_and_end_with_the_environment(
    machine: Machine, monitors: tuple[str, str]
) -> None:
    theirs, ours = monitors
    until(lambda: 'genv_process_devices_total{eid="42"' in get(theirs), "genv has read the processes")
    until(lambda: "genv_is_installed" in get(ours), "vigie has read genv's state")
    assert _series(get(ours)) == _series(get(theirs))
    assert len(_series(get(ours))) > 16

    for name in ("first", "second"):
        machine.processes[name].kill()
        machine.processes[name].wait()
    rows = (machine.directory / "processes").read_text().splitlines()
    (machine.directory / "processes").write_text(rows[-1] + "\n")
    scenario = machine.library.parent / "scenario"
    lines = [line for line in scenario.read_text().splitlines() if " process." not in line]
    outside = machine.processes["outside"].pid
    (machine.directory / "fresh").write_text("\n".join([*lines, f"3 process.0 {outside} {77 * MIB}"]) + "\n")
    os.replace(machine.directory / "fresh", scenario)
    until(lambda: _series(get(ours))["genv_environments_total", frozenset()] == 0, "its series have ended")
    until(lambda: _series(get(ours)) == _series(get(theirs)), "both monitors agree again")
    assert "alice" not in get(ours)


def _files_below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_five_files_are_published_under_the_names_of_genvs(
    machine: Machine, monitors: tuple[str, str]
) -> None:
    _, ours = monitors
    until(lambda: "genv_is_installed" in get(ours), "vigie has read genv's state")
    published = machine.directory / "ours"
    until(lambda: (published / "grafana/dashboards/overview.json").exists(), "the files are there")
    assert all((published / name).is_file() for name in FILES)
    theirs = machine.directory / "theirs"
    until(lambda: _files_below(theirs) == FILES, "genv has published files of the same names")
    settings = (published / "grafana/grafana.ini").read_text()
    assert "org_name = Main Org." in settings
    assert f"default_home_dashboard_path = {published}/grafana/dashboards/overview.json" in settings
    board = json.loads((published / "grafana/dashboards/overview.json").read_text())
    assert len([panel for panel in board["panels"] if panel["type"] != "row"]) == 11
