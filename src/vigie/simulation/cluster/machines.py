"""Machines of the simulated cluster, and their GPUs."""

from __future__ import annotations

from typing import NamedTuple


class GpuSpec(NamedTuple):
    """A GPU model and its limits."""

    model: str
    vendor: str
    memory_bytes: int
    idle_watts: float
    limit_watts: float
    clock_mhz: float
    memory_clock_mhz: float
    profiled: bool  # has profiling counters
    links: int  # NVLinks or similar
    pcie_generation: int


class MachineSpec(NamedTuple):
    """A node. Without a GPU model it has no GPUs."""

    name: str
    gpu: GpuSpec | None
    gpus: int
    cores: int
    memory_bytes: int
    ports: int  # InfiniBand ports
    partition: str
    rack: str
    sliced: tuple[int, ...] = ()  # GPUs split into MIG instances


GIB = 1 << 30
H100 = GpuSpec("NVIDIA H100 80GB HBM3", "nvidia", 80 * GIB, 72, 700, 1980, 2619, True, 18, 5)
A100 = GpuSpec("NVIDIA A100-SXM4-80GB", "nvidia", 80 * GIB, 58, 400, 1410, 1593, True, 12, 4)
GEFORCE = GpuSpec("NVIDIA GeForce RTX 4090", "nvidia", 24 * GIB, 22, 450, 2520, 10501, False, 0, 4)
MI300X = GpuSpec("AMD Instinct MI300X", "amd", 192 * GIB, 140, 750, 2100, 1300, False, 7, 5)


def _gpu_node(
    number: int, gpu: GpuSpec, rack: str, partition: str, sliced: tuple[int, ...] = ()
) -> MachineSpec:
    gpus = 4 if gpu is GEFORCE else 8
    ports = 0 if gpu is GEFORCE else 8
    cores = 32 if gpu is GEFORCE else 48
    memory = 256 * GIB if gpu is GEFORCE else 2048 * GIB
    return MachineSpec(f"gpu{number:02d}", gpu, gpus, cores, memory, ports, partition, rack, sliced)


def _cpu_node(number: int) -> MachineSpec:
    return MachineSpec(f"cpu{number:02d}", None, 0, 64, 512 * GIB, 1, "cpu", "r4")


MACHINES = (
    *(_gpu_node(number, H100, "r1", "train") for number in range(1, 7)),
    *(_gpu_node(number, A100, "r2", "train") for number in range(7, 10)),
    _gpu_node(10, A100, "r2", "dev", sliced=(0, 1)),
    _gpu_node(11, GEFORCE, "r3", "dev"),
    _gpu_node(12, MI300X, "r3", "dev"),
    _gpu_node(13, H100, "r3", "train"),
    _gpu_node(14, A100, "r3", "train"),
    _cpu_node(1),
    _cpu_node(2),
)


def build_machines(nodes: int, gpus: int = 8) -> tuple[MachineSpec, ...]:
    """Return the machines of the scenario first, then as many H100 nodes as needed.

    With fewer GPUs per node the scenario's machines are smaller, and jobs lose the missing GPUs.
    """
    more = (_gpu_node(number, H100, f"r{5 + number // 32}", "train") for number in range(15, nodes + 15))
    machines = (*MACHINES, *more)[:nodes]
    return tuple(machine._replace(gpus=min(machine.gpus, gpus)) for machine in machines)
