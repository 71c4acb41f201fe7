"""What four versions of Slurm printed for the same work, and the figures of squeue and sinfo beside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.workload.slurm.fake import RECORDINGS, VERSIONS
from vigie.workload.slurm.config import parse_config
from vigie.workload.slurm.diagnostics import parse_diagnostics
from vigie.workload.slurm.jobs import Allocation, Job, parse_jobs
from vigie.workload.slurm.nodes import Node, parse_nodes
from vigie.workload.slurm.samples import ClusterState, cluster_samples
from vigie.workload.slurm.shares import parse_fair_shares
from vigie.workload.slurm.summary import JobSummary

each_version = pytest.mark.parametrize("version", VERSIONS)


def lines(version: str, name: str) -> list[str]:
    return (RECORDINGS / version / f"{name}.txt").read_text().splitlines()


def jobs_of(version: str) -> dict[str, Job]:
    found = list(parse_jobs(lines(version, "jobs")))
    return {job.name + job.array: job for job in found if isinstance(job, Job)}


def nodes_of(version: str) -> dict[str, Node]:
    return {node.name: node for node in parse_nodes(lines(version, "nodes")) if isinstance(node, Node)}


def figures(version: str) -> dict[str, float]:
    def names(*labels: str) -> str:
        return "{" + ",".join(labels) + "}" if labels else ""

    state = ClusterState(
        JobSummary(parse_jobs(lines(version, "jobs"))),
        tuple(nodes_of(version).values()),
        ("gpu", "all", "maint"),
        parse_diagnostics(lines(version, "sdiag")),
        parse_fair_shares(lines(version, "sshare")),
    )
    samples: Iterator[tuple[str, float]] = (
        (metric.name + names(*labels), float(value or 0)) for metric, labels, value in cluster_samples(state)
    )
    return dict(samples)


@each_version
def test_every_line_is_a_record(version: str) -> None:
    assert len(jobs_of(version)) == len(lines(version, "jobs")) - 1  # hetero has two components of one name
    assert len(nodes_of(version)) == 8


@each_version
def test_queue_is_what_squeue_counted(version: str) -> None:
    found = figures(version)
    queue = {name[12:]: int(count) for name, count in found.items() if name.startswith("slurm_queue_")}
    assert queue == {
        "pending": 15,  # four of them tasks of one array
        "pending_dependency": 2,
        "running": 10,
        "suspended": 1,
        "cancelled": 2,
        "completing": 1,
        "completed": 1,
        "configuring": 0,
        "failed": 2,
        "timeout": 1,
        "preempted": 0,
        "node_fail": 1,
    }


@each_version
def test_cpus_gpus_and_nodes_are_what_sinfo_counted(version: str) -> None:
    found = figures(version)
    cpus = [found[f"slurm_cpus_{word}"] for word in ("alloc", "idle", "other", "total")]
    assert cpus == [37, 195, 248, 480]
    words = ("alloc", "comp", "down", "drain", "idle", "maint", "mix", "resv")
    assert [found[f"slurm_nodes_{word}"] for word in words] == [0, 1, 2, 2, 0, 1, 2, 0]
    gpus = [found[f"slurm_gpus_{word}"] for word in ("alloc", "idle", "total", "utilization")]
    assert gpus == [28, 22, 50, 0.56]
    of_partition = {
        name: [
            found[f"slurm_partition_cpus_{word}{{{name}}}"]
            for word in ("allocated", "idle", "other", "total")
        ]
        for name in ("gpu", "all", "maint")
    }
    assert of_partition == {"gpu": [37, 163, 56, 256], "all": [37, 195, 248, 480], "maint": [0, 32, 0, 32]}
    assert [found[f"slurm_partition_jobs_pending{{{name}}}"] for name in ("gpu", "all")] == [13, 2]


@each_version
def test_users_and_accounts_are_what_squeue_counted(version: str) -> None:
    found = figures(version)
    words = ("jobs_pending", "jobs_running", "cpus_running", "jobs_suspended")
    assert [found[f"slurm_account_{word}{{prod}}"] for word in words] == [6, 6, 10, 0]
    assert [found[f"slurm_account_{word}{{research}}"] for word in words] == [9, 4, 27, 1]
    assert [found[f"slurm_user_{word}{{carol}}"] for word in words] == [0, 1, 1, 0]
    shares = {
        account: found[f"slurm_account_fairshare{{{account}}}"] for account in ("root", "prod", "research")
    }
    assert shares == {"root": 1, "prod": 1, "research": 1}


@each_version
def test_state_of_each_node_is_the_word_of_sinfo(version: str) -> None:
    planned = "mixed-" if version in ("24.11", "26.05") else "mixed"
    assert {name: node.state for name, node in nodes_of(version).items()} == {
        "n1": "mixed",
        "n2": "completing",
        "n3": "draining",
        "n4": planned,
        "n5": "drained",
        "n6": "down",
        "n7": "down*",
        "n8": "maint",
    }


@each_version
def test_why_a_node_is_out_of_use_is_read_whole(version: str) -> None:
    nodes = nodes_of(version)
    assert (nodes["n6"].reason, nodes["n6"].reason_by) == ("PSU swap (ticket=4711)", "root")
    assert nodes["n5"].reason == "GPU 3 XID 79: fell off the bus"
    assert nodes["n5"].reason_ms is not None
    assert (nodes["n1"].reason, nodes["n1"].memory_mb, nodes["n1"].memory_alloc_mb) == ("", 512000, 69536)


@each_version
def test_names_and_comments_that_look_like_fields_do_not_mislead(version: str) -> None:
    jobs = jobs_of(version)
    odd = jobs["fine  name=with |pipes,commas"]
    assert (odd.user, odd.state, odd.exit_code, odd.gpus) == ("alice", "COMPLETED", "0:0", 1)
    assert jobs["train-llm"].state == "RUNNING"  # its comment says JobState=FAKE
    assert jobs["idle hold"].user == "carol"


@each_version
def test_gpus_of_a_job_are_those_of_its_allocation(version: str) -> None:
    jobs = jobs_of(version)
    eight = tuple(range(8))
    assert jobs["pretrain"].allocations == (Allocation(("n3", "n4"), eight),)
    assert (jobs["pretrain"].gpus, jobs["pretrain"].nodes) == (16, ("n3", "n4"))
    assert len(jobs["train-llm"].allocations[0].gpus) == 2
    assert len(jobs["gpusopt"].allocations[0].gpus) == 2  # asked for with --gpus
    assert jobs["cpuonly"].allocations == (Allocation(("n2",), ()),)
    assert jobs["wants-res"].gpus == 16  # of two nodes, still pending


@each_version
def test_ends_arrays_and_restarts_are_told_apart(version: str) -> None:
    jobs = jobs_of(version)
    assert (jobs["fails"].state, jobs["fails"].exit_code) == ("FAILED", "3:0")
    assert (jobs["segv"].state, jobs["segv"].exit_code) == ("FAILED", "0:11")
    assert (jobs["again"].is_pending, jobs["again"].restarts) == (True, 1)
    assert jobs["special"].is_pending  # SPECIAL_EXIT, a state of its own, has no node
    assert (jobs["dropped-pending"].has_ended, jobs["dropped-pending"].nodes) == (True, ())
    arrays = {job.array: job.tasks for job in jobs.values() if job.name == "sweep"}
    parent = jobs["hetero"].het_job
    leader = str(int(parent) - 1)  # the array was submitted before
    assert arrays == {f"{leader}_0": 1, f"{leader}_1": 1, f"{leader}_[2-5%2]": 4}


def test_components_of_a_heterogeneous_job_name_their_leader() -> None:
    found = [job for job in parse_jobs(lines("26.05", "jobs")) if isinstance(job, Job) and job.het_job]
    assert [(job.id, job.het_job, job.gpus) for job in found] == [("5", "5", 1), ("6", "5", 0)]


def test_sluid_is_read_where_slurm_has_it() -> None:
    assert jobs_of("26.05")["cpuonly"].sluid == "s5AXM7Q1J4JD00"
    assert jobs_of("24.11")["cpuonly"].sluid == ""


def test_nodes_with_different_gpus_have_a_group_each() -> None:
    found = {job.name: job for job in parse_jobs(lines("24.11", "split-jobs")) if isinstance(job, Job)}
    assert found["split"].allocations == (Allocation(("n1",), (3, 4)), Allocation(("n2",), (0, 1)))
    assert found["uneven"].allocations == (Allocation(("n2",), (2, 3, 4, 5)), Allocation(("n3",), (0,)))
    assert found["uneven"].gpus == 5


@each_version
def test_scheduler_speaks_for_itself(version: str) -> None:
    found = parse_diagnostics(lines(version, "sdiag"))
    expected = {"20.11": (163, 570), "22.05": (177, 700), "24.11": (363, 681), "26.05": (680, 10839)}
    assert (found["last_cycle"], found["backfill_last_cycle"]) == expected[version]
    assert len(found) == 12


@each_version
def test_configuration_says_who_sees_what(version: str) -> None:
    config = parse_config(lines(version, "config"))
    assert (config.version[:5], config.private, config.metrics) == (version, frozenset(), False)
    assert config.slurm_uid == 0
