"""Who computes on one GPU, and in which of its MIG instances."""

from __future__ import annotations

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import PERMANENT_ERRORS, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.processes import list_processes
from vigie.sources.core.driver import GpuProcess, GpuUsers


def read_users(gpu: NvmlGpu) -> GpuUsers:
    """Return who is on the GPU; a driver that cannot tell costs only the processes."""
    parts = {part.uuid: str(part.instance) for part in gpu.parts}
    return GpuUsers(gpu.index, gpu.uuid, parts, _processes(gpu))


def _processes(gpu: NvmlGpu) -> tuple[GpuProcess, ...] | None:
    try:
        there, listed = list_processes(gpu)
    except NvmlError as error:
        if error.code in PERMANENT_ERRORS:
            return None
        raise
    if there > len(listed):
        return None
    return tuple(
        _process(one.pid, one.usedGpuMemory, getattr(one, "gpuInstanceId", abi.NO_INSTANCE)) for one in listed
    )


def _process(pid: int, used: int, instance: int) -> GpuProcess:
    return GpuProcess(
        pid,
        None if used == abi.NOT_AVAILABLE else used,
        "" if instance == abi.NO_INSTANCE else str(instance),
    )
