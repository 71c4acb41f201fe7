"""Bindings by Slurm's word: what is held, what waits, what has ended and for how long."""

from __future__ import annotations

from tests.workload.slurm.fake import RECORDINGS
from vigie.model import Binding
from vigie.workload.slurm.allocations import AllocationHistory, NodeNames
from vigie.workload.slurm.jobs import Allocation, Job, parse_job, parse_jobs
from vigie.workload.slurm.nodes import Node, parse_nodes
from vigie.workload.slurm.summary import MAX_PENDING, JobSummary

LINES = (RECORDINGS / "24.11/jobs.txt").read_text().splitlines()
NODES = [
    one
    for one in parse_nodes((RECORDINGS / "24.11/nodes.txt").read_text().splitlines())
    if isinstance(one, Node)
]
NAMES = NodeNames(NODES)


def job(name: str) -> Job:
    return next(one for one in parse_jobs(LINES) if isinstance(one, Job) and one.name == name)


def told(*jobs: Job, history: AllocationHistory | None = None) -> list[Binding]:
    return list((history or AllocationHistory()).bindings(JobSummary(jobs), NAMES))


def held(bindings: list[Binding]) -> set[tuple[str, str]]:
    return {(one.node_names[0], one.resource) for one in bindings if one.resource != "queue"}


def test_job_holds_its_gpus_on_each_of_its_nodes() -> None:
    found = told(job("pretrain"))
    assert held(found) == {(node, f"gpu:{gpu}") for node in ("n3", "n4") for gpu in range(8)}
    assert {(one.holder, one.user, one.to_ms) for one in found if one.gpu} == {("3", "alice", None)}
    facts = found[-1].facts
    assert (facts["account"], facts["partition"], facts["limit"], facts["gpus"]) == (
        "research",
        "gpu",
        "01:30:00",
        "16",
    )


def test_job_without_gpus_holds_its_node() -> None:
    assert held(told(job("cpuonly"))) == {("n2", "node")}


def test_allocation_without_any_process_is_held_like_any_other() -> None:
    assert held(told(job("idle hold"))) == {("n1", "gpu:4"), ("n1", "gpu:5")}


def test_started_job_has_waited_from_its_submission_to_its_start() -> None:
    started = job("typed")
    (queued,) = [one for one in told(started) if one.resource == "queue"]
    assert (queued.from_ms, queued.to_ms) == (started.submit_ms, started.start_ms)


def test_pending_job_waits_with_its_reason() -> None:
    (queued,) = told(job("wants-res"))
    assert (queued.resource, queued.to_ms, queued.node_names) == ("queue", None, ())
    assert (queued.facts["reason"], queued.facts["gpus"]) == ("Resources", "16")
    (array,) = told(*[one for one in parse_jobs(LINES) if isinstance(one, Job) and one.tasks > 1])
    assert (array.holder, array.facts["array"]) == ("4", "4_[2-5%2]")


def test_requeued_job_waits_again_under_its_id() -> None:
    (queued,) = told(job("again"))
    assert (queued.resource, queued.facts["restarts"]) == ("queue", "1")


def test_job_cancelled_while_pending_was_only_in_the_queue() -> None:
    (queued,) = told(job("dropped-pending"))
    assert (queued.resource, queued.facts["state"]) == ("queue", "CANCELLED")
    assert queued.to_ms is not None


def test_end_is_told_of_the_gpus_that_were_seen() -> None:
    history = AllocationHistory()
    running = job("train-llm")
    told(running, history=history)
    over = running._replace(
        state="FAILED", exit_code="1:0", end_ms=(running.start_ms or 0) + 5000, allocations=()
    )
    for _ in range(2):  # Slurm tells of it for some minutes
        ends = [one for one in told(over, history=history) if one.gpu]
        assert {(one.resource, one.to_ms) for one in ends} == {("gpu:0", over.end_ms), ("gpu:1", over.end_ms)}
        assert (ends[0].facts["state"], ends[0].facts["exit_code"]) == ("FAILED", "1:0")
    told(history=history)
    assert held(told(over, history=history)) == {("n1", "node")}  # and then it is forgotten


def test_completing_job_keeps_the_gpus_that_were_seen() -> None:
    history = AllocationHistory()
    running = job("train-llm")
    told(running, history=history)
    bare = tuple(Allocation(group.nodes, ()) for group in running.allocations)
    completing = running._replace(state="COMPLETING", allocations=bare)
    assert held(told(completing, history=history)) == {("n1", "gpu:0"), ("n1", "gpu:1")}
    assert held(told(completing)) == set()  # nobody knows which they were


def test_short_job_that_was_never_seen_has_the_number_of_its_gpus_and_slurms_own_times() -> None:
    over = job("fine  name=with |pipes,commas")
    (one,) = [one for one in told(over) if one.resource == "node"]
    assert (one.facts["held_gpus"], one.from_ms, one.to_ms) == ("1", over.start_ms, over.end_ms)


def test_gpus_of_an_ended_job_add_up_over_its_nodes() -> None:
    line = next(line for line in LINES if "JobName=pretrain" in line)
    for gpus in (16, 5):
        over = parse_job(line)._replace(state="COMPLETED", gpus=gpus)
        counts = [int(one.facts.get("held_gpus", 0)) for one in told(over) if one.resource == "node"]
        assert (len(counts), sum(counts)) == (2, gpus)


def test_machine_is_known_by_every_name_that_is_its_own() -> None:
    own = [node._replace(host=f"h{place}", address=f"10.0.0.{place}") for place, node in enumerate(NODES)]
    assert NodeNames(own).of("n1") == ("n1", "h0", "10.0.0.0")
    assert NodeNames(own, "h0.cluster").of("n1") == ()  # the machine that reports needs none
    assert NAMES.of("n1") == ("n1",)  # eight slurmd on one machine share its name and address
    assert NAMES.of("unknown") == ("unknown",)


def test_queue_of_any_length_costs_the_same_memory() -> None:
    pending = job("wants-prio")
    summary = JobSummary(pending._replace(id=str(number)) for number in range(MAX_PENDING + 500))
    assert (len(summary.pending), summary.unkept, summary.states["PENDING"]) == (
        MAX_PENDING,
        500,
        MAX_PENDING + 500,
    )
