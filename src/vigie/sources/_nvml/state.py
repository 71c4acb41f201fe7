"""One GPU as those see it who ask what it does and who is on it, not for every counter."""

from __future__ import annotations

from ctypes import byref
from typing import Callable, TypeVar

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import LOST, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.memory import read_memory
from vigie.sources._nvml.users import read_users
from vigie.sources.core.driver import GpuState

TEMPERATURE_OF_GPU = 0
OF_ALL = (
    *LOST,
    abi.UNINITIALIZED,
    abi.DRIVER_NOT_LOADED,
    abi.VERSIONS_DIFFER,
)  # no other call will do better
T = TypeVar("T")


def read_state(gpu: NvmlGpu) -> GpuState:
    """Return what the GPU tells; a call that fails costs only what it would have told."""
    memory = _attempt(lambda: read_memory(gpu, gpu.handle))
    return GpuState(
        gpu.index,
        _attempt(lambda: _busy_percent(gpu)),
        _attempt(lambda: gpu.read_int("nvmlDeviceGetTemperature", TEMPERATURE_OF_GPU)),
        memory.used if memory else None,
        memory.total if memory else None,
        _attempt(lambda: read_users(gpu).processes),
    )


def _busy_percent(gpu: NvmlGpu) -> int:
    answer = abi.Utilization()
    gpu.call("nvmlDeviceGetUtilizationRates", byref(answer))
    return int(answer.gpu)


def _attempt(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except NvmlError as error:
        if error.code in OF_ALL:
            raise
        return None
