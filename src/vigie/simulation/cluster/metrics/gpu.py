"""GPUs, as their vendors' sources would read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vigie.simulation.cluster.device_names import build_pci_address, build_pid, build_uuid
from vigie.simulation.cluster.gpu_physics import LANES, GpuReadings
from vigie.simulation.cluster.incidents import ROW_REMAP
from vigie.simulation.cluster.machines import GpuSpec, MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import Scenario

DRIVER = {"nvidia": "570.86.15", "amd": "6.12.12"}
MIB = 2.0**20
TAKEN_BY_DRIVER = 620 * MIB
SLOWDOWN = 90.0  # degrees Celsius
REASONS = ("hw_power_brake", "power_cap", "hw_thermal", "sw_thermal", "hw_slowdown")


class SimulatedCard:
    """One GPU of a machine, and its labels."""

    def __init__(self, machine: MachineSpec, kind: GpuSpec, index: int) -> None:
        self.kind = kind
        identity = build_uuid(machine, index)
        self.small = str(index), identity, kind.vendor, kind.model
        self.where = (*self.small, build_pci_address(index), DRIVER[kind.vendor])
        self.dcgm = (
            *(str(index), identity, build_pci_address(index), f"nvidia{index}", kind.model, "", ""),
            *(machine.name, DRIVER["nvidia"]),
        )


def gpu_columns(
    scenario: Scenario, machine: MachineSpec, readings: Sequence[GpuReadings], times: Times
) -> Iterator[Column]:
    """Yield the metrics of a node's GPUs. A GPU that is gone has none."""
    if machine.gpu is None:
        return
    for index, reading in enumerate(readings):
        card = SimulatedCard(machine, machine.gpu, index)
        parts = [_neutral(card, reading)]
        if machine.gpu.vendor == "nvidia":
            parts += [_device(card, reading), _health(card, _remapped_rows(scenario, machine, index, times))]
        if machine.gpu.profiled:
            parts.append(_profiling(card, reading))
        if index in machine.sliced:
            parts.append(_slices(card, len(times)))
        for part in parts:
            for column in part:
                yield column if column.there is not None else column._replace(there=reading.present)


def _neutral(card: SimulatedCard, reading: GpuReadings) -> Iterator[Column]:
    one, kind = np.ones(len(reading.power)), card.kind
    yield gauge("vigie_gpu_info", one, *card.where)
    yield gauge("vigie_gpu_busy_ratio", np.round(reading.work.busy, 2), *card.small)
    yield gauge("vigie_gpu_memory_busy_ratio", np.round(reading.dram, 2), *card.small)
    yield gauge("vigie_gpu_memory_used_bytes", _used_memory(card, reading), *card.small)
    yield gauge("vigie_gpu_memory_total_bytes", one * kind.memory_bytes, *card.small)
    yield gauge("vigie_gpu_power_watts", np.round(reading.power, 1), *card.small)
    yield gauge("vigie_gpu_power_limit_watts", one * kind.limit_watts, *card.small)
    yield gauge("vigie_gpu_temperature_celsius", np.round(reading.temperature), *card.small)
    yield gauge("vigie_gpu_clock_hertz", reading.clock_mhz * 1e6, *card.small)
    yield gauge("vigie_gpu_memory_clock_hertz", one * kind.memory_clock_mhz * 1e6, *card.small)
    yield gauge("vigie_gpu_pcie_generation", one * kind.pcie_generation, *card.small)
    yield gauge("vigie_gpu_pcie_generation_max", one * kind.pcie_generation, *card.small)
    yield gauge("vigie_gpu_pcie_width", reading.pcie_width, *card.small)
    yield gauge("vigie_gpu_pcie_width_max", one * LANES, *card.small)
    if kind.vendor == "amd":
        yield gauge("vigie_amdgpu_temperature_celsius", reading.temperature + 9, *card.small, "junction")
        for found in ("correctable", "uncorrectable"):
            yield rate("vigie_amdgpu_ras_errors_total", one * 0, *card.small, "umc", found)
        return
    if card.kind.profiled:
        yield gauge("vigie_gpu_memory_temperature_celsius", np.round(reading.temperature + 6), *card.small)
    else:
        yield gauge("vigie_gpu_fan_ratio", np.round(reading.temperature / 100, 2), *card.small)
    held = dict.fromkeys(REASONS, one * 0) | {"hw_power_brake": reading.capped, "power_cap": reading.hot}
    for reason, values in held.items():
        yield gauge("vigie_gpu_throttled", values, *card.small, reason)
    yield gauge("vigie_gpu_processes", reading.work.process, *card.small)
    yield _process(card, reading)
    for link in range(kind.links):
        yield gauge("vigie_gpu_nvlink_up", one, *card.small, str(link))


def _process(card: SimulatedCard, reading: GpuReadings) -> Column:
    """Return the memory of the GPU's process, while it exists."""
    pid = build_pid(int(card.small[0]))
    held = gauge(
        "vigie_gpu_process_memory_bytes", _used_memory(card, reading) - TAKEN_BY_DRIVER, *card.small, pid, ""
    )
    return held._replace(there=reading.present * (reading.work.process > 0))


def _device(card: SimulatedCard, reading: GpuReadings) -> Iterator[Column]:
    one, kind, labels = np.ones(len(reading.power)), card.kind, card.dcgm
    used = np.round(_used_memory(card, reading) / MIB)
    total = round(kind.memory_bytes / MIB)
    yield gauge("DCGM_FI_DEV_SM_CLOCK", reading.clock_mhz, *labels)
    yield gauge("DCGM_FI_DEV_MEM_CLOCK", one * kind.memory_clock_mhz, *labels)
    yield gauge("DCGM_FI_DEV_GPU_TEMP", np.round(reading.temperature), *labels)
    if kind.profiled:
        yield gauge("DCGM_FI_DEV_MEMORY_TEMP", np.round(reading.temperature + 6), *labels)
    yield gauge("DCGM_FI_DEV_POWER_USAGE", np.round(reading.power, 3), *labels)
    yield rate("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", reading.energy * 1000, *labels, start=4e11)
    yield gauge("DCGM_FI_DEV_GPU_UTIL", np.round(reading.work.busy * 100), *labels)
    yield gauge("DCGM_FI_DEV_MEM_COPY_UTIL", np.round(reading.dram * 100), *labels)
    yield gauge("DCGM_FI_DEV_ENC_UTIL", one * 0, *labels)
    yield gauge("DCGM_FI_DEV_DEC_UTIL", one * 0, *labels)
    yield gauge("DCGM_FI_DEV_FB_USED", used, *labels)
    yield gauge("DCGM_FI_DEV_FB_FREE", total - used, *labels)
    yield gauge("DCGM_FI_DEV_FB_TOTAL", one * total, *labels)
    yield gauge("DCGM_FI_DEV_PSTATE", np.where(reading.work.busy > 0.02, 0.0, 2.0), *labels)
    yield gauge("DCGM_FI_DEV_PCIE_LINK_WIDTH", reading.pcie_width, *labels)
    yield gauge("DCGM_FI_DEV_PCIE_LINK_GEN", one * kind.pcie_generation, *labels)
    yield gauge("DCGM_FI_DEV_SLOWDOWN_TEMP", one * SLOWDOWN, *labels)
    yield gauge("DCGM_FI_DEV_MAX_SM_CLOCK", one * kind.clock_mhz, *labels)
    yield gauge("DCGM_FI_DEV_POWER_MGMT_LIMIT", one * kind.limit_watts, *labels)
    yield rate("DCGM_FI_DEV_POWER_VIOLATION", (reading.capped + 0.3 * reading.hot) * 1e9, *labels)
    yield rate("DCGM_FI_DEV_THERMAL_VIOLATION", one * 0, *labels)


def _health(card: SimulatedCard, remapped: Numbers) -> Iterator[Column]:
    labels, zero = card.dcgm, np.zeros(len(remapped))
    yield gauge("DCGM_FI_DEV_XID_ERRORS", remapped * 63, *labels, "", "")
    yield gauge("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", zero, *labels)
    if not card.kind.profiled:
        return  # GeForce has no ECC
    yield gauge("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", remapped * 3, *labels)
    yield gauge("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", remapped, *labels)
    yield gauge("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL", remapped * 3 + 2, *labels)
    yield gauge("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", remapped, *labels)
    yield gauge("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", remapped, *labels)
    yield gauge("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", zero, *labels)
    yield gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", zero, *labels)
    yield gauge("DCGM_FI_DEV_ROW_REMAP_PENDING", remapped, *labels)


def _profiling(card: SimulatedCard, reading: GpuReadings) -> Iterator[Column]:
    labels, none = card.dcgm, np.zeros(len(reading.sm))
    shares: tuple[tuple[str, Numbers], ...] = (
        ("GR_ENGINE_ACTIVE", reading.work.busy),
        ("SM_ACTIVE", reading.sm),
        ("SM_OCCUPANCY", reading.occupancy),
        ("PIPE_TENSOR_ACTIVE", reading.tensor),
        ("DRAM_ACTIVE", reading.dram),
        ("PIPE_FP16_ACTIVE", reading.tensor * 0.1),
        ("PIPE_FP32_ACTIVE", reading.sm * 0.15),
        ("PIPE_FP64_ACTIVE", none),
    )
    for name, values in shares:
        yield gauge(f"DCGM_FI_PROF_{name}", values.clip(max=1.0).round(3), *labels)
    for name, values in (
        ("PCIE_TX_BYTES", reading.pcie * 0.4),
        ("PCIE_RX_BYTES", reading.pcie),
        ("NVLINK_TX_BYTES", reading.nvlink),
        ("NVLINK_RX_BYTES", reading.nvlink),
    ):
        yield gauge(f"DCGM_FI_PROF_{name}", np.round(values), *labels)


def _slices(card: SimulatedCard, steps: int) -> Iterator[Column]:
    yield gauge("vigie_gpu_mig_mode", np.ones(steps), *card.small)
    for number in range(2):
        identity = card.small[1].replace("GPU-", f"MIG-{number}")
        labels = *card.small, str(number + 1), "3g.40gb", identity
        yield gauge("vigie_gpu_mig_instance_info", np.ones(steps), *labels)


def _used_memory(card: SimulatedCard, reading: GpuReadings) -> Numbers:
    used: Numbers = np.round(reading.work.memory * card.kind.memory_bytes / MIB) * MIB + TAKEN_BY_DRIVER
    return used


def _remapped_rows(scenario: Scenario, machine: MachineSpec, gpu: int, times: Times) -> Numbers:
    rows = np.zeros(len(times))
    for incident in scenario.incidents_of(ROW_REMAP, node=machine.name):
        if incident.gpu == gpu:
            rows = rows + scenario.within(times, incident.begin, incident.end)
    return rows
