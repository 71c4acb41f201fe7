"""A running agent on a simulated NVIDIA driver, under Moneo's names and on three exporters' ports."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.programs import free_port, running

from tests.expositions import parse
from tests.real.conftest import get, need
from tests.real.waiting import until
from vigie.agent.dialects.moneo import ALIASES
from vigie.simulation.nvml import gpu_models
from vigie.simulation.nvml.build import build
from vigie.simulation.nvml.driver import SimulatedDriver

Ports = tuple[int, int, int, int]  # the agent's own, then those of the three exporters


@pytest.fixture
def ports(tmp_path: Path) -> Iterator[Ports]:
    need("cc")
    driver = SimulatedDriver(tmp_path / "driver", build(tmp_path), gpu_models.h100())
    own, node, dcgm, slurm = (free_port() for _ in range(4))
    command = [sys.executable, "-m", "vigie", "agent", f"--listen=127.0.0.1:{own}", "--cadence=1"]
    command += [f"--nvml-library={driver.library}", f"--data={tmp_path}/data", "--socket=off"]
    command += ["--dialects=moneo,dcgm-exporter", f"--exporter-ports={node},{dcgm},{slurm}"]
    with running(command, own, "/healthz"):
        yield own, node, dcgm, slurm


def _names(port: int, query: str = "") -> set[str]:
    return {name for name, _ in parse(get(f"http://127.0.0.1:{port}/metrics{query}")).values}


def test_every_gpu_series_of_moneo_is_there_for_each_gpu(ports: Ports) -> None:
    wanted = {alias.name for alias in ALIASES if alias.name.startswith("dcgm_")}
    wanted |= {"node_cpu_util", "node_mem_util", "DCGM_EXP_XID_ERRORS_COUNT"}
    until(lambda: wanted <= _names(ports[0]), "every name")
    found = parse(get(f"http://127.0.0.1:{ports[0]}/metrics")).values
    busy = {dict(labels)["gpu_id"] for name, labels in found if name == "dcgm_gpu_utilization"}
    assert busy == {dict(labels)["gpu"] for name, labels in found if name == "DCGM_FI_DEV_GPU_UTIL"}
    assert {dict(labels)["job_id"] for name, labels in found if name == "dcgm_gpu_utilization"} == {"None"}


def test_each_port_has_the_names_of_its_exporter(ports: Ports) -> None:
    _, node, dcgm, slurm = ports
    until(lambda: "DCGM_FI_DEV_GPU_UTIL" in _names(dcgm), "GPUs")
    assert all(name.startswith("DCGM_") for name in _names(dcgm))
    assert all(name.startswith("node_") for name in _names(node))
    assert _names(node, "?collect[]=loadavg") == {"node_load1", "node_load5", "node_load15"}
    assert all(name.startswith(("slurm_", "container_", "machine_")) for name in _names(slurm))
