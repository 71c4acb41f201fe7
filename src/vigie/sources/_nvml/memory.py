"""Memory of a GPU or MIG instance, from the newest supported call."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import NamedTuple, Optional

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import FOR_GOOD, NvmlGpu
from vigie.sources._nvml.library import NvmlError

VERSION = abi.version_of(abi.Memory2, 2)
NEW = "nvmlDeviceGetMemoryInfo_v2"


class MemoryAmounts(NamedTuple):
    """In bytes. Old drivers do not report what they reserve."""

    total: int
    free: int
    used: int
    reserved: Optional[int]  # noqa: UP045 - evaluated on Python 3.9


def memory_of(gpu: NvmlGpu, handle: ctypes.c_void_p) -> MemoryAmounts:
    """Return total, free, used and reserved memory."""
    if NEW not in gpu.missing:
        answer = abi.Memory2(version=VERSION)
        try:
            gpu.library.call(NEW, handle, byref(answer))
        except NvmlError as error:
            if error.code not in FOR_GOOD:
                raise
            gpu.missing[NEW] = str(error)
        else:
            return MemoryAmounts(answer.total, answer.free, answer.used, answer.reserved)
    old = abi.NvmlMemory()
    gpu.library.call("nvmlDeviceGetMemoryInfo", handle, byref(old))
    return MemoryAmounts(old.total, old.free, old.used, None)
