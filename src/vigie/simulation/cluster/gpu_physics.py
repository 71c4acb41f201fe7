"""Physics of a node's GPUs: power follows activity, temperature lags power, limits lower the clock."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vigie.simulation.cluster.activity import CAPPED, Work, compute_work
from vigie.simulation.cluster.incidents import CLOCK_CAP, PCIE, XID_79
from vigie.simulation.cluster.machines import GpuSpec, MachineSpec
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import Scenario

AMBIENT, DEGREES = 27.0, 43.0  # idle, and added at full power
LAG_SECONDS = 90.0
NVLINK_BYTES = 210e9  # per second, at maximum traffic
PCIE_BYTES = 11e9
LANES = 16


class GpuReadings(NamedTuple):
    """One GPU over time. `present` is 0 while the GPU is gone."""

    present: Numbers
    work: Work
    sm: Numbers
    occupancy: Numbers
    tensor: Numbers
    dram: Numbers
    power: Numbers
    temperature: Numbers
    clock_mhz: Numbers
    capped: Numbers  # 1 while a power brake limits the clock
    hot: Numbers  # 1 while the power limit limits the clock
    nvlink: Numbers  # bytes per second
    pcie: Numbers  # bytes per second
    pcie_width: Numbers  # lanes
    energy: Numbers  # joules per second; 0 while the GPU is gone


class HeatModel:
    """The temperature of one GPU, which follows its power slowly."""

    def __init__(self, gpu: GpuSpec) -> None:
        self._gpu = gpu
        self._at: int | None = None
        self._now = AMBIENT + 3

    def follow(self, times: Times, power: Numbers) -> Numbers:
        """Return the temperature at each time, and keep the last."""
        aims = AMBIENT + DEGREES * power / self._gpu.limit_watts
        out = np.empty(len(times))
        now, at = self._now, self._at
        for place, (time, aim) in enumerate(zip(times.tolist(), aims.tolist(), strict=True)):
            share = 1.0 if at is None else 1.0 - math.exp(-(time - at) / 1000 / LAG_SECONDS)
            now += (aim - now) * share
            out[place], at = now, time
        self._now, self._at = now, at
        return out


class GpuPhysics:
    def __init__(self, scenario: Scenario, machine: MachineSpec) -> None:
        if machine.gpu is None:
            raise ValueError(f"{machine.name} has no GPU")
        self._scenario, self._machine, self._gpu = scenario, machine, machine.gpu
        self._heat = [HeatModel(machine.gpu) for _ in range(machine.gpus)]

    def compute(self, times: Times) -> list[GpuReadings]:
        """Return the readings of each GPU. Times must follow those of the previous call."""
        return [self._read(gpu, times) for gpu in range(self._machine.gpus)]

    def _read(self, gpu: int, times: Times) -> GpuReadings:
        node, kind = self._machine.name, self._gpu
        work = compute_work(self._scenario, node, gpu, times)
        noise = self._scenario.noise.around(f"{node}/{gpu}/power", times, 5_000, 0.03)
        capped = self._within(CLOCK_CAP, gpu, times)
        effort = np.clip(1.35 * work.computing + 0.12 * work.busy, 0, 1.02)
        power = (kind.idle_watts + (kind.limit_watts - kind.idle_watts) * effort) * noise
        power = np.where(capped > 0, np.minimum(power, kind.limit_watts * 0.52 * noise), power)
        hot = (power > kind.limit_watts * 0.985).astype(np.float64)
        power = np.minimum(power, kind.limit_watts)
        clock = kind.clock_mhz * np.where(work.busy > 0.02, 1.0 - 0.06 * hot, 0.18)
        clock = np.where(capped > 0, kind.clock_mhz * CAPPED, clock)
        slow, there = self._within(PCIE, gpu, times), 1.0 - self._within(XID_79, gpu, times)
        return GpuReadings(
            present=there,
            work=work,
            sm=work.computing / 0.62 * 0.78,
            occupancy=work.computing * 0.45,
            tensor=work.computing * 0.72,
            dram=work.computing * 0.66,
            power=power,
            temperature=self._heat[gpu].follow(times, power),
            clock_mhz=np.round(clock / 15) * 15,
            capped=capped,
            hot=hot,
            nvlink=NVLINK_BYTES * work.talking * (kind.links > 0),
            pcie=PCIE_BYTES * work.computing * (1.0 - 0.8 * slow),
            pcie_width=np.where(slow > 0, 4.0, float(LANES)),
            energy=power * there,
        )

    def _within(self, kind: str, gpu: int, times: Times) -> Numbers:
        inside = np.zeros(len(times))
        for incident in self._scenario.incidents_of(kind, node=self._machine.name):
            if incident.gpu == gpu:
                inside = np.maximum(inside, self._scenario.during(times, incident.begin, incident.end))
        return inside
