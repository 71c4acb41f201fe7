"""Ranks that stand at the same place are one group; the smallest group is the one to look at.

A rank that loads data with workers waits for them, so the workers of a rank are compared with the workers of
the others in the same way: their difference is the cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from vigie.trace.stacks.stack import ProcessStacks
from vigie.wire.api.trace_reports import StackFrame, StackGroup, StackReport

# Where a stack ends, in words; the first that fits any frame from the innermost outwards.
_REGIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("loading data", ("torch/utils/data/", "multiprocessing/queues", "webdataset/", "datasets/")),
    (
        "writing or reading a checkpoint",
        ("torch/serialization", "torch/distributed/checkpoint", "safetensors/"),
    ),
    ("compiling", ("torch/_dynamo/", "torch/_inductor/", "triton/")),
    ("in a collective", ("torch/distributed/", "torch/nn/parallel/distributed")),
    ("sending logs", ("wandb/", "urllib3/", "requests/", "mlflow/")),
)
_WAITING_CALLS = ("_engine_run_backward", "synchronize", "Tensor.item", "Tensor.cpu", "barrier", "all_reduce")
_LIBRARIES = (
    *("site-packages/", "dist-packages/", "torch/", "lib/python", "<frozen", "multiprocessing/"),
    *("threading.py", "selectors.py", "queue.py", "importlib/", "concurrent/"),
)


def group_stacks(processes: Sequence[ProcessStacks]) -> StackReport:
    """Group the ranks of one job, and name the ones that stand elsewhere."""
    ranks, workers = _split_workers(processes)
    readable = {rank: process for rank, process in ranks.items() if process.main is not None}
    errors = sorted({f"{p.node or 'pid'} {p.pid}: {p.error}" for p in processes if p.error})
    if not readable:
        return StackReport("No rank could be read.", [], [], errors=errors)
    members: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    for rank, process in sorted(readable.items()):
        members[_signature(process)].append(rank)
    ordered = sorted(members.values(), key=lambda group: (len(group), group[0]))
    shared = _shared_length([_frames(readable[group[0]]) for group in ordered])
    activities = {rank: _describe_workers(workers.get(rank, ())) for rank in readable}
    groups = [_build_group(group, readable, shared, activities) for group in ordered]
    odd = _find_odd(groups, len(readable))
    shared_calls = _frames(readable[ordered[0][0]])[:shared]
    return StackReport(_describe(groups, odd, len(readable)), shared_calls, groups, odd, errors)


def _split_workers(
    processes: Sequence[ProcessStacks],
) -> tuple[dict[int, ProcessStacks], dict[int, list[ProcessStacks]]]:
    """Tell ranks from their children: a child inherits the rank, and its parent has the same one."""
    rank_of = {(p.node, p.pid): p.rank for p in processes}
    ranks: dict[int, ProcessStacks] = {}
    workers: dict[int, list[ProcessStacks]] = defaultdict(list)
    for process in processes:
        if process.rank is None:
            continue
        if rank_of.get((process.node, process.parent_pid)) == process.rank:
            workers[process.rank].append(process)
        else:
            ranks[process.rank] = process
    return ranks, workers


def _frames(process: ProcessStacks) -> list[StackFrame]:
    return process.main.frames if process.main is not None else []


def _signature(process: ProcessStacks) -> tuple[tuple[str, str], ...]:
    """Return the calls without their lines: two ranks a line apart do the same."""
    return tuple((frame.function, frame.file) for frame in _frames(process))


def _shared_length(stacks: Sequence[list[StackFrame]]) -> int:
    length = 0
    for calls in zip(*stacks, strict=False):
        if len({(frame.function, frame.file) for frame in calls}) > 1:
            break
        length += 1
    return length if len(stacks) > 1 else 0


def _build_group(
    group: list[int],
    ranks: Mapping[int, ProcessStacks],
    shared: int,
    workers: Mapping[int, list[str]],
) -> StackGroup:
    process = ranks[group[0]]
    calls = _frames(process)
    main = process.main
    own = sorted({activity for rank in group for activity in workers[rank]})
    others = {activity for rank in ranks if rank not in group for activity in workers[rank]}
    return StackGroup(
        group,
        calls[shared:],
        describe_activity(calls),
        find_place(calls),
        all(ranks[rank].is_stuck for rank in group),
        main.wait if main is not None else "",
        [activity for activity in own if activity not in others],
    )


def describe_activity(calls: Sequence[StackFrame]) -> str:
    """Return in words what the innermost calls do."""
    for frame in reversed(calls):
        if frame.function.split(".")[-1] in {call.split(".")[-1] for call in _WAITING_CALLS}:
            return "waiting for other ranks or the GPU"
        for words, files in _REGIONS:
            if any(part in frame.file for part in files):
                return words
    return "running its own code"


def find_place(calls: Sequence[StackFrame]) -> str:
    """Return the innermost call of the user's own code."""
    for frame in reversed(calls):
        if not any(part in frame.file for part in _LIBRARIES):
            return f"{frame.function} ({frame.file}:{frame.line})"
    return ""


def _describe_workers(workers: Sequence[ProcessStacks]) -> list[str]:
    places = {
        find_place(_frames(worker)) or describe_activity(_frames(worker)) for worker in workers if worker.main
    }
    return sorted(places)


def _find_odd(groups: Sequence[StackGroup], total: int) -> list[int]:
    """Return the ranks outside the largest group, where that holds more than half."""
    if len(groups) < 2 or len(groups[-1].ranks) * 2 <= total:
        return []
    return sorted(rank for group in groups[:-1] for rank in group.ranks)


def _describe(groups: Sequence[StackGroup], odd: Sequence[int], total: int) -> str:
    if len(groups) == 1:
        group = groups[0]
        moving = "and do not move" if group.is_stuck else "and are moving"
        return f"All {total} ranks are at the same place, {moving}: {group.activity}{_at(group)}."
    if not odd:
        return f"{total} ranks are at {len(groups)} different places: they are likely running, not hung."
    first, rest = groups[0], groups[-1]
    names = ", ".join(map(str, first.ranks))
    subject = f"Rank {names} is" if len(first.ranks) == 1 else f"Ranks {names} are"
    workers = f" Its workers: {'; '.join(first.workers)}." if first.workers else ""
    others = f"the other {len(rest.ranks)} are {rest.activity}{_at(rest)}"
    return f"{subject} {first.activity}{_at(first)}; {others}.{workers}"


def _at(group: StackGroup) -> str:
    return f" at {group.place}" if group.place else ""
