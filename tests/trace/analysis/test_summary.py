"""Shares of a trace are exclusive and add up to its window."""

import io

import pytest

from tests.trace.analysis.traces import event, shares_ms, summarize, summarize_recorded, window
from vigie.trace.analysis.reader import InvalidTraceError
from vigie.trace.analysis.summary import summarize_trace

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def test_gpu_time_is_divided_by_what_the_gpu_and_the_launching_thread_do() -> None:
    summary = summarize(
        window(100_000),
        event("kernel", "gemm", 0, 20_000, 7),
        event("kernel", NCCL, 10_000, 30_000, 20),  # 10 ms hidden, 20 ms exposed
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 35_000, 10_000, 7),  # 5 ms behind communication
        event(
            "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 45_000, 15_000
        ),
        event("cpu_op", "aten::add", 50_000, 1_000),  # inside the data loader: data
        event("cuda_runtime", "cudaStreamSynchronize", 60_000, 10_000),
        event("cpu_op", "aten::mm", 70_000, 10_000),
        event("cuda_runtime", "cudaLaunchKernel", 70_000, 10),
        event("cuda_runtime", "cudaLaunchKernel", 71_000, 10),
        event("gpu_user_annotation", "nccl:all_reduce", 0, 90_000, 20),  # a span, no work
        event("cuda_sync", "Stream Sync", 60_000, 10_000, 20),
    )
    assert shares_ms(summary) == {
        "compute": 20,
        "communication": 20,
        "copy": 5,
        "data": 15,
        "sync": 10,
        "launch": 10,
        "outside": 20,
    }
    assert summary.has_gpu
    assert summary.communication_seconds == pytest.approx(0.030)
    assert summary.communication_hidden_seconds == pytest.approx(0.010)
    assert sum(share.ratio for share in summary.shares) == pytest.approx(1)


def test_short_gaps_between_kernels_are_the_hardware_s_own() -> None:
    summary = summarize(window(20), event("kernel", "a", 0, 8), event("kernel", "b", 10, 10))
    assert shares_ms(summary) == {"compute": 0.018, "between-kernels": 0.002}


def test_collective_is_told_by_its_arguments_where_the_name_does_not() -> None:
    kernel = event("kernel", "fancy_kernel", 0, 10, **{"Collective name": "allreduce"})
    assert shares_ms(summarize(window(10), kernel)) == {"communication": 0.01}


def test_longest_gap_says_what_the_program_did() -> None:
    summary = summarize(
        window(100_000),
        event("kernel", "gemm", 0, 10_000, 3),
        event("user_annotation", "evaluate", 10_000, 90_000),
        event("python_function", "metrics.py(12): score", 20_000, 80_000),
    )
    assert [(gap.kind, gap.seconds, gap.during) for gap in summary.gaps] == [
        ("outside", 0.09, "metrics.py(12): score")
    ]


def test_window_is_that_of_the_events_where_none_is_recorded() -> None:
    summary = summarize(
        event("cpu_op", "aten::mm", 1000, 3000), baseTimeNanoseconds=1_790_857_026_000_000_000
    )
    assert summary.start_ns == 1_790_857_026_001_000_000
    assert summary.window_seconds == pytest.approx(0.003)


def test_profiler_s_warnings_rank_and_unfinished_events_are_passed_on() -> None:
    summary = summarize(
        window(10),
        event("cpu_op", "aten::mm", 0, 5, finished=False),
        event("overhead", "Buffer Flush", 0, 1, -1),
        distributedInfo={"rank": 3, "world_size": 8},
        WARNING=["Dropped 3 records"],
    )
    assert (summary.rank, summary.world_size, summary.unfinished_events) == (3, 8, 1)
    assert summary.overhead_ratio == pytest.approx(0.1)
    assert summary.messages == ["Dropped 3 records"]


@pytest.mark.parametrize(
    "text", [b"", b"{}", b'{"traceEvents": []}', b'{"traceEvents": [1, 2]}', b"\x1f\x8b"]
)
def test_what_is_no_trace_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidTraceError):
        summarize_trace(io.BytesIO(text))


@pytest.mark.parametrize(
    ("name", "communication_ms"),
    [
        ("inprogram-slow-compute", (130.8, 112.1, 45.0, 111.0)),
        ("ondemand-duration-slow-data", (239.8, 250.4, 87.6, 234.5)),
        ("ondemand-iterations-slow-compute", (116.4, 68.6, 135.4, 118.0)),
    ],
)
def test_recorded_traces_of_real_ranks_add_up(name: str, communication_ms: tuple[float, ...]) -> None:
    summaries = summarize_recorded(name)
    for rank, summary in summaries.items():
        assert sum(share.ratio for share in summary.shares) == pytest.approx(1)
        assert summary.communication_seconds * 1e3 == pytest.approx(communication_ms[rank], abs=0.05)
        assert summary.steps is not None
        assert summary.timeline[-1].end == pytest.approx(summary.window_seconds)
