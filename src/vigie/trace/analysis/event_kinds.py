"""What kind of work an event of a trace is, told by its category and name."""

from __future__ import annotations

import enum
import re


class Kind(enum.IntEnum):
    """What an event means for the question where the time went."""

    KERNEL = 0
    COLLECTIVE_KERNEL = 1
    COPY = 2
    OPERATOR = 3
    COLLECTIVE = 4  # a collective that runs on the CPU
    DATA = 5
    SYNC = 6
    RUNTIME = 7
    STEP = 8
    OPTIMIZER = 9
    ANNOTATION = 10
    PYTHON = 11


GPU_KINDS = (Kind.KERNEL, Kind.COLLECTIVE_KERNEL, Kind.COPY)

_COLLECTIVE_KERNEL = re.compile(
    r"^nccl|^rccl|^msccl|nvshmem|deep_ep|cross_device_reduce_|(one|two)_shot_all_reduce|^multimem_|^hccl"
)
_SYNC = re.compile(r"^(cuda|hip|cu)(Stream|Device|Event|Ctx)?(Synchronize|Memcpy)$")
_STEP = re.compile(r"^ProfilerStep#")
_OPTIMIZER = re.compile(r"^Optimizer\.step#")
_DATA = re.compile(r"^enumerate\(DataLoader\)#")
_COLLECTIVE = re.compile(r"^(gloo|nccl|mpi|ucc|xccl|hccl):")
_ANNOTATIONS = (
    (_STEP, Kind.STEP),
    (_OPTIMIZER, Kind.OPTIMIZER),
    (_DATA, Kind.DATA),
    (_COLLECTIVE, Kind.COLLECTIVE),
)


def classify_event(category: str, name: str, is_collective: bool) -> Kind | None:
    """Return the kind of a complete event, or None for one that is no work."""
    if category == "kernel":
        return Kind.COLLECTIVE_KERNEL if is_collective or _COLLECTIVE_KERNEL.search(name) else Kind.KERNEL
    if category in ("gpu_memcpy", "gpu_memset"):
        return Kind.COPY
    if category == "cpu_op":
        return Kind.OPERATOR
    if category in ("cuda_runtime", "cuda_driver"):
        return Kind.SYNC if _SYNC.match(name) else Kind.RUNTIME
    if category == "user_annotation":
        return next((kind for pattern, kind in _ANNOTATIONS if pattern.match(name)), Kind.ANNOTATION)
    return Kind.PYTHON if category == "python_function" else None
