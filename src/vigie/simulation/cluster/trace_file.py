"""A trace of one simulated rank, in the layout that PyTorch's profiler writes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

QUARTER_NS = 7_889_238 * 10**9  # libkineto's base of times is "now" rounded down to a quarter
LAYER_SECONDS = 0.022  # of an undisturbed rank
COLLECTIVE_RATIO = 0.12  # of a layer, when no rank is late
LAUNCH_SECONDS = 0.0005  # how far the CPU is ahead of the GPU
OPTIMIZER_SECONDS = 0.03
JITTER = 0.03
MAIN_STREAM, COLLECTIVE_STREAM = 7, 20

# An operator with its kernel, and which part of a layer's compute it takes.
OPERATORS = (
    ("aten::mm", "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", 0.55),
    ("aten::_flash_attention_forward", "flash_fwd_kernel<bfloat16_t, 128, 128, 64>", 0.3),
    ("aten::add_", "vectorized_elementwise_kernel<4, CUDAFunctor_add<BFloat16>>", 0.15),
)
DATA = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
OPTIMIZER, OPTIMIZER_KERNEL = "Optimizer.step#AdamW.step", "multi_tensor_apply_kernel<FusedAdamMathFunctor>"
COLLECTIVE, COLLECTIVE_KERNEL = "nccl:all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


class SimulatedRank(NamedTuple):
    """What a rank does in a step."""

    rank: int
    world_size: int
    pid: int
    gpu: int
    step_seconds: float  # of compute and communication, undisturbed
    clock_ratio: float  # of the GPU's clock, below 1 when it is throttled
    slowest_ratio: float  # the least of all ranks: the others wait for that one
    data_seconds: float  # in each step


class Work(NamedTuple):
    """Something that takes a rank's time: a kernel with its operator, or a wait of the CPU alone."""

    operator: str
    kernel: str
    seconds: float


def build_trace(rank: SimulatedRank, start_ms: int, window_seconds: float, trace_id: str) -> bytes:
    """Return the compressed file of a window that begins in the middle of a step."""
    base_ns = start_ms * 10**6 // QUARTER_NS * QUARTER_NS
    start_us = (start_ms * 10**6 - base_ns) / 1000
    events = [*_describe_rows(rank), _build_window(start_us, window_seconds)]
    for begin, end, work in _clip(_run(rank), window_seconds):
        events += _build_events(rank, work, start_us + begin * 1e6, (end - begin) * 1e6, len(events))
    group = {"pg_name": "0", "pg_desc": "default_pg", "pg_size": rank.world_size}
    document = {
        "schemaVersion": 1,
        "deviceProperties": [],
        "trace_id": trace_id,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": base_ns,
        "traceEvents": events,
        "distributedInfo": {
            "backend": "nccl",
            "rank": rank.rank,
            "world_size": rank.world_size,
            "pg_config": [group],
        },
        "traceName": f"rank{rank.rank}.json",
    }
    return gzip.compress(json.dumps(document).encode(), mtime=0)


def _run(rank: SimulatedRank) -> Iterator[Work]:
    """Yield a rank's work without end, from the middle of a step on."""
    layers = max(1, round(rank.step_seconds / LAYER_SECONDS))
    random = np.random.default_rng([rank.pid, rank.rank])
    yield from _run_layers(rank, layers // 2, random)
    while True:
        yield Work(OPTIMIZER, OPTIMIZER_KERNEL, OPTIMIZER_SECONDS)
        if rank.data_seconds:
            yield Work(DATA, "", rank.data_seconds)
        yield from _run_layers(rank, layers, random)


def _run_layers(rank: SimulatedRank, layers: int, random: np.random.Generator) -> Iterator[Work]:
    """Yield compute, and a collective that lasts until the slowest rank has come and data are reduced."""
    compute = LAYER_SECONDS * (1 - COLLECTIVE_RATIO)
    whole = compute / rank.slowest_ratio + LAYER_SECONDS * COLLECTIVE_RATIO
    for jitter in random.normal(0, JITTER, layers).clip(-2 * JITTER, 2 * JITTER).tolist():
        own = compute / rank.clock_ratio * (1 + jitter)
        own = min(own, whole - LAYER_SECONDS * COLLECTIVE_RATIO / 2)
        for operator, kernel, share in OPERATORS:
            yield Work(operator, kernel, own * share)
        yield Work(COLLECTIVE, COLLECTIVE_KERNEL, whole - own)


def _clip(works: Iterator[Work], window_seconds: float) -> Iterator[tuple[float, float, Work]]:
    """Yield begin and end of the work that fits whole into the window: the profiler drops the rest."""
    begin = 0.0
    for work in works:
        if begin + work.seconds > window_seconds:
            return
        yield begin, begin + work.seconds, work
        begin += work.seconds


def _build_events(
    rank: SimulatedRank, work: Work, start_us: float, length_us: float, correlation: int
) -> Iterator[dict[str, Any]]:
    if not work.kernel:
        yield _event("user_annotation", work.operator, rank.pid, rank.pid, start_us, length_us)
        return
    launch = max(start_us - LAUNCH_SECONDS * 1e6, 0)
    is_operator = work.operator.startswith("aten::")
    category = "cpu_op" if is_operator else "user_annotation"
    yield _event(category, work.operator, rank.pid, rank.pid, launch, 60)
    yield _event(
        "cuda_runtime", "cudaLaunchKernel", rank.pid, rank.pid, launch + 20, 8, correlation=correlation
    )
    collective = {"Collective name": "allreduce", "Group size": rank.world_size, "dtype": "BFloat16"}
    stream = COLLECTIVE_STREAM if work.operator == COLLECTIVE else MAIN_STREAM
    more = collective if work.operator == COLLECTIVE else {}
    named = {"device": rank.gpu, "stream": stream, "correlation": correlation, **more}
    yield _event("kernel", work.kernel, rank.gpu, stream, start_us, length_us, **named)


def _describe_rows(rank: SimulatedRank) -> Iterator[dict[str, Any]]:
    """Yield what viewers write beside the rows."""
    rows = ((rank.pid, f"rank {rank.rank}", "CPU"), (rank.gpu, f"rank {rank.rank}", f"GPU {rank.gpu}"))
    for pid, name, label in rows:
        for kind, args in (("process_name", {"name": name}), ("process_labels", {"labels": label})):
            yield {"ph": "M", "name": kind, "pid": pid, "tid": 0, "ts": 0, "args": args}


def _build_window(start_us: float, seconds: float) -> dict[str, Any]:
    return _event("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", start_us, seconds * 1e6)


def _event(
    category: str, name: str, pid: int | str, tid: int | str, start_us: float, length_us: float, **args: Any
) -> dict[str, Any]:
    times = {"ts": round(start_us, 3), "dur": round(length_us, 3)}
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, **times, "args": args}
