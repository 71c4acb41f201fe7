"""Names, types, units, values and absences of three models, against a list made from the fact sheet."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.sources.nvidia.conftest import Make
from tests.sources.nvidia.gpus import MODULES, Machine
from vigie.agent.source_reader import Outcome
from vigie.simulation.nvml import gpu_models

MODELS = ("h100", "a100", "geforce")


class Row(NamedTuple):
    name: str
    kind: str
    unit: str
    values: dict[str, str]


def _rows() -> list[Row]:
    lines = (Path(__file__).parent / "sheet.txt").read_text().splitlines()[1:]
    return [
        Row(name, kind, unit, dict(zip(MODELS, values, strict=True)))
        for name, kind, unit, *values in (line.split("|") for line in lines)
    ]


ROWS = _rows()
MONEO = (
    *(
        "SM_CLOCK",
        "MEM_CLOCK",
        "GPU_TEMP",
        "MEMORY_TEMP",
        "POWER_USAGE",
        "TOTAL_ENERGY_CONSUMPTION",
        "GPU_UTIL",
    ),
    *("MEM_COPY_UTIL", "ECC_SBE_VOL_TOTAL", "ECC_DBE_VOL_TOTAL", "ECC_SBE_AGG_TOTAL", "ECC_DBE_AGG_TOTAL"),
    *("CLOCKS_EVENT_REASONS", "POWER_VIOLATION", "THERMAL_VIOLATION"),
)
MONEO_PROFILING = (
    *("SM_ACTIVE", "SM_OCCUPANCY", "DRAM_ACTIVE", "NVLINK_TX_BYTES", "NVLINK_RX_BYTES", "PCIE_TX_BYTES"),
    *("PCIE_RX_BYTES", "PIPE_TENSOR_ACTIVE", "PIPE_FP64_ACTIVE", "PIPE_FP32_ACTIVE", "PIPE_FP16_ACTIVE"),
)


def _read_twice(machine: Machine) -> dict[str, dict[tuple[str, str, str], float]]:
    """Read everything at 0 and at 10 seconds of the script."""
    for name in machine.readings:
        machine.read(name)
    machine.at(10)
    profiling = machine.readings["nvidia_profiling"]
    if profiling.outcome is not Outcome.UNAVAILABLE or "two readings" in profiling.reason:
        machine.profile()
    return {name: machine.read(name) for name in machine.readings}


@pytest.mark.parametrize("model", MODELS)
def test_values_follow_the_script_and_what_is_not_supported_is_no_series(machine: Make, model: str) -> None:
    found = _read_twice(made := machine(getattr(gpu_models, model)()))
    gpu = "0" if model == "geforce" else "1"
    values = {name: v for source in found.values() for (name, index, _), v in source.items() if index == gpu}
    for row in ROWS:
        wanted = row.values[model]
        if wanted == "-":
            assert row.name not in values
        else:
            assert values[row.name] == pytest.approx(float(wanted)), row.name
    unlisted = {name for name in values if name.startswith("DCGM_") and "BANDWIDTH_L" not in name}
    assert unlisted <= {row.name for row in ROWS}
    _each_absent_metric_has_its_reason(made, values, gpu)


def _each_absent_metric_has_its_reason(machine: Machine, values: dict[str, float], gpu: str) -> None:
    for module in MODULES:
        source = module.SOURCE
        reading = machine.readings[source.name]
        for metric in source.metrics:
            if metric.name in values or "*" in metric.name:
                continue
            if metric.name.startswith(("vigie_gpu_mig_instance_info", "vigie_gpu_process_")):
                continue  # of what there may be none
            reason = reading.host.notes.get(metric.name, "") + reading.reason
            assert "support" in reason or "require" in reason, metric.name


def test_types_and_units_are_the_sheets() -> None:
    for row in ROWS:
        declared = [metric for module in MODULES for metric in module.METRICS if metric.matches(row.name)]
        assert {metric.kind for metric in declared} == {row.kind}, row.name
        told = (declared[0].help.lower(), declared[0].unit)
        assert row.unit == "-" or row.unit.lower() in told[0] or row.unit == told[1], row.name


def test_labels_are_those_of_dcgm_exporter_in_its_order(machine: Make) -> None:
    made = machine(gpu_models.h100())
    made.read()
    assert made.labels("DCGM_FI_DEV_GPU_TEMP", "3") == [
        {
            "gpu": "3",
            "UUID": "GPU-c0ffee03-1111-2222-3333-444455556666",
            "pci_bus_id": "00000000:4C:00.0",
            "device": "nvidia3",
            "modelName": "NVIDIA H100 80GB HBM3",
            "Hostname": "node7",
            "DCGM_FI_DRIVER_VERSION": "550.54.15",
        }
    ]
    assert list(made.labels("DCGM_FI_DEV_GPU_TEMP", "3")[0])[:2] == ["gpu", "UUID"]
    assert made.labels("vigie_gpu_busy_ratio", "3")[0]["vendor"] == "nvidia"


def test_label_of_the_host_can_be_spelled_as_newer_exporters_do(machine: Make) -> None:
    made = machine(gpu_models.geforce(), host_label="hostname")
    made.read()
    labels = made.labels("DCGM_FI_DEV_GPU_TEMP", "0")[0]
    assert labels["hostname"] == "node7"
    assert "Hostname" not in labels


def test_moneos_device_and_profiling_counters_are_all_there() -> None:
    listed = {row.name for row in ROWS}
    assert not {f"DCGM_FI_DEV_{name}" for name in MONEO} - listed
    assert not {f"DCGM_FI_PROF_{name}" for name in MONEO_PROFILING} - listed
