"""Ranks are grouped by where they stand, and the odd one is named with its cause."""

from vigie.trace.stacks.grouping import describe_activity, find_place, group_stacks
from vigie.trace.stacks.stack import ProcessStacks, ThreadStack
from vigie.wire.api.trace_reports import StackFrame as Frame

MODULE = Frame("<module>", "train.py", 40)
MAIN = Frame("main", "train.py", 23)
BACKWARD = [
    Frame("train_one_step", "train.py", 15),
    Frame("Tensor.backward", "torch/_tensor.py", 600),
    Frame("_engine_run_backward", "torch/autograd/graph.py", 800),
]
LOADER = [
    Frame("_MultiProcessingDataLoaderIter._try_get_data", "torch/utils/data/dataloader.py", 1200),
    Frame("Queue.get", "multiprocessing/queues.py", 113),
]
READ_SHARD = [
    Frame("_worker_loop", "torch/utils/data/_utils/worker.py", 300),
    Frame("Files.read_shard", "train.py", 12),
]
WORKER_IDLE = [
    Frame("_worker_loop", "torch/utils/data/_utils/worker.py", 300),
    Frame("Queue.get", "multiprocessing/queues.py", 113),
]


def process(
    rank: int | None, *calls: Frame, parent: int = 1, pid: int = 0, samples: int = 3
) -> ProcessStacks:
    stacks = [[ThreadStack(1, "MainThread", [MODULE, MAIN, *calls])] for _ in range(samples)]
    return ProcessStacks(pid=pid or 100 + (rank or 0), parent_pid=parent, rank=rank, samples=stacks)


def test_rank_stuck_in_loading_is_named_with_what_its_workers_do() -> None:
    ranks = [process(rank, *(LOADER if rank == 2 else BACKWARD)) for rank in range(4)]
    workers = [
        process(rank, *(READ_SHARD if rank == 2 else WORKER_IDLE), parent=100 + rank, pid=200 + 10 * rank + i)
        for rank in range(4)
        for i in range(2)
    ]
    report = group_stacks([*workers, *ranks])
    assert report.odd_ranks == [2]
    assert [group.ranks for group in report.groups] == [[2], [0, 1, 3]]
    assert report.groups[0].workers == ["Files.read_shard (train.py:12)"]
    assert [frame.function for frame in report.shared_calls] == ["<module>", "main"]
    assert report.sentence == (
        "Rank 2 is loading data at main (train.py:23); the other 3 are waiting for other ranks or the GPU"
        " at train_one_step (train.py:15). Its workers: Files.read_shard (train.py:12)."
    )


def test_lines_do_not_part_ranks_that_run_the_same_calls() -> None:
    moved = [Frame(frame.function, frame.file, frame.line + 1) for frame in BACKWARD]
    assert len(group_stacks([process(0, *BACKWARD), process(1, *moved)]).groups) == 1


def test_all_in_one_wait_is_undecided_and_said_so() -> None:
    report = group_stacks([process(rank, *BACKWARD) for rank in range(4)])
    assert report.odd_ranks == []
    assert report.sentence.startswith(
        "All 4 ranks are at the same place, and do not move: waiting for other ranks"
    )


def test_ranks_at_different_places_are_running() -> None:
    places = [process(rank, Frame(f"f{rank}", "train.py", rank)) for rank in range(4)]
    report = group_stacks(places)
    assert report.odd_ranks == []
    assert "likely running, not hung" in report.sentence


def test_movement_between_samples_is_not_stuck() -> None:
    moving = process(0, *BACKWARD)
    moving.samples[1] = [ThreadStack(1, "MainThread", [MODULE])]
    assert not group_stacks([moving]).groups[0].is_stuck


def test_launcher_without_a_rank_and_its_children_are_told_apart() -> None:
    launcher = process(None, pid=50)
    report = group_stacks([launcher, process(0, *BACKWARD, parent=50), process(1, *BACKWARD, parent=50)])
    assert report.groups[0].ranks == [0, 1]


def test_same_pid_on_two_nodes_is_two_processes() -> None:
    first, second = process(0, *BACKWARD, pid=7), process(1, *LOADER, pid=8, parent=7)
    first.node, second.node = "n1", "n2"
    assert {rank for group in group_stacks([first, second]).groups for rank in group.ranks} == {0, 1}


def test_what_could_not_be_read_is_said() -> None:
    report = group_stacks([ProcessStacks(pid=7, rank=0, error="no permission")])
    assert report.sentence == "No rank could be read."
    assert report.errors == ["pid 7: no permission"]


def test_activity_is_told_by_file_and_place_by_the_user_s_own_code() -> None:
    checkpoint = [MAIN, Frame("save", "torch/serialization.py", 1)]
    assert describe_activity(checkpoint) == "writing or reading a checkpoint"
    assert describe_activity([MAIN]) == "running its own code"
    assert find_place(checkpoint) == "main (train.py:23)"
    assert find_place([Frame("save", "torch/serialization.py", 1)]) == ""
