"""Memory of a GPU or MIG instance, from the newest supported call."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import NamedTuple, Optional

from vigie.sources._nvml import abi
from vigie.sources._nvml.gpu import PERMANENT_ERRORS, NvmlGpu
from vigie.sources._nvml.library import NvmlError

VERSION = abi.struct_version(abi.Memory2, 2)
NEW = "nvmlDeviceGetMemoryInfo_v2"


class MemoryAmounts(NamedTuple):
    """In bytes. Old drivers do not report what they reserve."""

    total: int
    free: int
    used: int
    reserved: Optional[int]  # noqa: UP045 - evaluated on Python 3.9


def read_memory(gpu: NvmlGpu, handle: ctypes.c_void_p) -> MemoryAmounts:
    """Return total, free, used and reserved memory."""
    if NEW not in gpu.unsupported:
        answer = abi.Memory2(version=VERSION)
        try:
            gpu.library.call(NEW, handle, byref(answer))
        except NvmlError as error:
            if error.code not in PERMANENT_ERRORS:
                raise
            gpu.unsupported[NEW] = str(error)
        else:
            return MemoryAmounts(answer.total, answer.free, answer.used, answer.reserved)
    old = abi.NvmlMemory()
    gpu.library.call("nvmlDeviceGetMemoryInfo", handle, byref(old))
    return MemoryAmounts(old.total, old.free, old.used, None)
