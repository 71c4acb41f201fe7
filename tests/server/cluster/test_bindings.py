"""Bindings: kept once, ended when told or guessed, and the jobs and users that follow from them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vigie.model import Binding
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import DAY_MS, FILE, PRUNE_EVERY, ClusterDatabase
from vigie.server.cluster.filters import ENDED, GUESSED, HELD, TOLD, UNHEARD, BindingFilter

HOUR = 3_600_000


@pytest.fixture
def book(tmp_path: Path) -> Iterator[BindingStore]:
    with contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database:
        yield BindingStore(database)


def gpu(index: int, job: str = "17", begin: int = 1000, end: int | None = None, user: str = "ada") -> Binding:
    return Binding(f"gpu:{index}", "job", job, begin, end, user, "slurm", {"name": f"job {job}"})


def ends(book: BindingStore) -> dict[str, tuple[int | None, int]]:
    return {f"{kept.node} {kept.binding.resource}": (kept.binding.to_ms, kept.how) for kept in book.find()}


def test_binding_comes_back_as_it_was_and_twice_is_once(book: BindingStore) -> None:
    for _ in range(2):
        book.add("n1", gpu(0))
    (kept,) = book.find()
    assert (kept.node, kept.binding, kept.how) == ("n1", gpu(0), TOLD)


def test_late_copy_does_not_take_an_end_back(book: BindingStore) -> None:
    book.add("n1", gpu(0, end=5000))
    book.add("n1", gpu(0))
    assert ends(book) == {"n1 gpu:0": (5000, TOLD)}


def test_what_the_node_does_not_hold_any_more_has_ended(book: BindingStore) -> None:
    book.add("n1", gpu(0))
    book.add("n1", gpu(1))
    book.add("n2", gpu(0))
    book.replace_held("n1", [gpu(1), gpu(2)], 9000)
    open_ended = (None, TOLD)
    assert ends(book) == {
        "n1 gpu:0": (9000, GUESSED),
        "n1 gpu:1": open_ended,
        "n1 gpu:2": open_ended,
        "n2 gpu:0": open_ended,
    }


def test_lost_node_holds_nothing_until_it_is_back_and_then_what_it_says(book: BindingStore) -> None:
    book.add("n1", gpu(0))
    book.add("n1", gpu(1))
    book.end_all("n1", 7000)
    assert set(ends(book).values()) == {(7000, UNHEARD)}
    assert book.jobs.find()[0].state == "unknown"
    book.replace_held("n1", [gpu(0)], 9000)
    assert ends(book) == {"n1 gpu:0": (None, TOLD), "n1 gpu:1": (7000, GUESSED)}
    assert book.jobs.find()[0].state == "running"


def test_told_end_replaces_a_guessed_one(book: BindingStore) -> None:
    book.add("n1", gpu(0))
    book.replace_held("n1", [], 9000)
    book.add("n1", gpu(0, end=8000))
    assert ends(book) == {"n1 gpu:0": (8000, TOLD)}
    assert book.jobs.find()[0].end_ms == 8000


TOLD_THINGS = [
    gpu(0),
    gpu(0, end=4000),
    gpu(1),
    gpu(1, begin=6000),
    gpu(1, end=5000),
    gpu(0, job="18", begin=4500),
]


@settings(max_examples=20)
@given(st.permutations(TOLD_THINGS), st.lists(st.sampled_from(TOLD_THINGS), max_size=4))
def test_order_and_copies_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory, order: list[Binding], copies: list[Binding]
) -> None:
    database = ClusterDatabase(tmp_path_factory.mktemp("book") / FILE)
    book = BindingStore(database)
    for binding in itertools.chain(order, copies):
        book.add("n1", binding)
    found = {
        (kept.binding.holder, kept.binding.resource, kept.binding.from_ms): kept.binding.to_ms
        for kept in book.find()
    }
    database.close()
    assert found == {
        ("17", "gpu:0", 1000): 4000,
        ("17", "gpu:1", 1000): 5000,
        ("17", "gpu:1", 6000): None,
        ("18", "gpu:0", 4500): None,
    }


def test_bindings_are_found_by_what_they_are(book: BindingStore) -> None:
    book.add("n1", gpu(0, end=2000))
    book.add("n2", gpu(3, job="18", begin=3000, user="bob"))
    book.add("n2", Binding("node", "container", "c0ffee", 4000, None, "bob"))

    def found(**wanted: str | int) -> list[int]:
        return [kept.binding.from_ms for kept in book.find(BindingFilter(**wanted))]  # type: ignore[arg-type]

    assert found(node="n2") == [4000, 3000]
    assert found(gpu="3") == found(job="18") == [3000]
    assert found(user="ada") == found(state=ENDED) == [1000]
    assert found(state=HELD) == [4000, 3000]
    assert found(kind="container") == [4000]
    assert found(since_ms=2500, until_ms=3500) == [3000]
    assert found(since_ms=1500, until_ms=1600) == [1000]


def test_job_is_one_row_of_all_its_nodes(book: BindingStore) -> None:
    book.add("head", Binding("queue", "job", "17", 500, None, "ada", "slurm", {"reason": "Priority"}))
    (waits,) = book.jobs.find()
    assert (waits.state, waits.start_ms, waits.nodes, waits.facts) == (
        "waiting",
        500,
        [],
        {"reason": "Priority"},
    )
    book.add("head", Binding("queue", "job", "17", 500, 1000, "ada", "slurm"))
    for node, index in itertools.product(("n1", "n2"), (0, 1)):
        book.add(node, gpu(index))
    (job,) = book.jobs.find(BindingFilter(node="n2"))
    assert (job.id, job.user, job.state, job.source) == ("17", "ada", "running", "slurm")
    assert (job.queued_ms, job.start_ms, job.end_ms) == (500, 1000, None)
    assert (job.nodes, job.gpus) == (["n1", "n2"], ["n1:0", "n1:1", "n2:0", "n2:1"])
    for node, index in itertools.product(("n1", "n2"), (0, 1)):
        book.add(node, gpu(index, end=9000 + index))
    (job,) = book.jobs.find(BindingFilter(state="finished", user="ada", gpu="1"))
    assert (job.end_ms, job.json["name"]) == (9001, "job 17")
    assert book.jobs.find(BindingFilter(since_ms=10_000)) == []


def test_pages_of_jobs_hold_each_once(book: BindingStore) -> None:
    for number in range(7):
        book.add("n1", gpu(0, job=str(number), begin=1000 * (number // 2)))
    pages: list[str] = []
    before = None
    while page := book.jobs.find(limit=2, before=before):
        pages += [job.id for job in page]
        before = (page[-1].start_ms, page[-1].number)
    assert sorted(pages) == [str(number) for number in range(7)]


def test_gpu_held_twice_by_one_user_counts_once(book: BindingStore) -> None:
    book.add("n1", gpu(0, begin=0, end=2 * HOUR))
    book.add("n1", Binding("gpu:0", "container", "c0ffee", HOUR, 3 * HOUR, "ada"))
    book.add("n1", gpu(1, begin=HOUR))
    book.add("n1", gpu(2, job="18", begin=HOUR, user="bob"))
    ada, bob = sorted(book.users.find(BindingFilter(), 0, 4 * HOUR), key=lambda user: user.name)
    jobs = {"jobs_running": 1, "jobs_waiting": 0}
    assert ada.json == {"user": "ada", "gpus": ["n1:1"], "nodes": ["n1"], **jobs, "gpu_hours": 6.0}
    assert (bob.json["gpu_hours"], bob.json["gpus"]) == (3.0, ["n1:2"])


spans = st.lists(st.tuples(st.integers(0, 50), st.none() | st.integers(0, 60)), max_size=8)


@settings(max_examples=15)
@given(spans, st.integers(0, 30), st.integers(0, 40))
def test_hours_are_those_in_which_anything_was_held(
    tmp_path_factory: pytest.TempPathFactory, held: list[tuple[int, int | None]], start: int, length: int
) -> None:
    database = ClusterDatabase(tmp_path_factory.mktemp("book") / FILE)
    book = BindingStore(database)
    end = start + length
    hours = set[int]()
    for number, (begin, to) in enumerate(held):
        until = None if to is None else max(to, begin)
        hours |= {hour for hour in range(begin, end if until is None else until) if start <= hour < end}
        ends = None if until is None else until * HOUR
        book.add("n1", Binding("gpu:0", "job", str(number), begin * HOUR, ends, "ada"))
    wanted = BindingFilter(since_ms=start * HOUR, until_ms=end * HOUR)
    counted = sum(user.json["gpu_hours"] for user in book.users.find(wanted, start * HOUR, end * HOUR))
    database.close()
    assert counted == len(hours)


def test_what_ended_long_ago_goes_with_its_job_and_what_is_held_stays(tmp_path: Path) -> None:
    database = ClusterDatabase(tmp_path / FILE)
    book = BindingStore(database, keep_days=1, max_bindings=2)
    book.add("n1", gpu(0, job="held", begin=0))
    book.add("n1", gpu(0, job="old", begin=0, end=1))
    for number in range(4):
        book.add("n1", gpu(0, job=str(number), begin=DAY_MS, end=DAY_MS + number))
    book.prune(DAY_MS + 100)
    assert sorted(kept.binding.holder for kept in book.find()) == ["2", "3", "held"]
    assert sorted(job.id for job in book.jobs.find()) == ["2", "3", "held"]
    database.close()


def test_what_nodes_repeat_is_no_reason_to_look_for_what_is_too_old(tmp_path: Path) -> None:
    class Counting(BindingStore):
        pruned = 0

        def prune(self, now_ms: int) -> None:
            self.pruned += 1
            super().prune(now_ms)

    database = ClusterDatabase(tmp_path / FILE)
    book = Counting(database)
    for number in [*range(PRUNE_EVERY // 2)] * 2:
        book.add("n1", gpu(number))
    assert book.pruned == 0
    book.replace_held("n1", [], DAY_MS)  # which ends them all
    assert book.pruned == 1
    book.add("n1", gpu(0))
    assert book.pruned == 1
    database.close()


def test_bindings_survive_a_restart(tmp_path: Path) -> None:
    for number in (1, 2):
        database = ClusterDatabase(tmp_path / FILE)
        book = BindingStore(database)
        book.add("n1", gpu(number))
        database.sync()
        assert len(book.find()) == number
        assert len(book.jobs.find()) == 1
        database.close()


def process(index: int, begin: int, end: int | None = None, job: str = "17") -> Binding:
    return Binding(f"gpu:{index}", "job", job, begin, end, "ada", "processes")


def times(book: BindingStore) -> list[tuple[str, str, int, int | None, str]]:
    return [
        (kept.node, kept.binding.resource, kept.binding.from_ms, kept.binding.to_ms, kept.binding.source)
        for kept in book.find()
    ]


def test_scheduler_and_processes_that_say_the_same_make_one_binding(book: BindingStore) -> None:
    book.add("n1", process(0, 1500))
    book.add("head", gpu(0), "n1")
    book.add("n1", process(0, 1800))
    assert times(book) == [("n1", "gpu:0", 1000, None, "slurm")]
    book.add("n1", process(0, 1500, 2500))  # the process has ended, the allocation has not
    book.add("head", gpu(0, end=3000), "n1")
    book.add("n1", process(0, 2900))  # it is still seen for a moment
    assert times(book) == [("n1", "gpu:0", 1000, 3000, "slurm")]
    book.add("n1", process(0, 4000))  # but this one has no allocation
    assert times(book)[0] == ("n1", "gpu:0", 4000, None, "processes")


def test_each_reporter_ends_only_what_it_reported(book: BindingStore) -> None:
    book.add("head", gpu(0)._replace(node_names=("n1",)), "n1")
    book.add("n1", process(1, 1500, job="18"))
    book.replace_held("n1", [], 5000)
    assert ends(book) == {"n1 gpu:0": (None, TOLD), "n1 gpu:1": (5000, GUESSED)}
    book.replace_held("head", [], 6000)
    assert ends(book)["n1 gpu:0"] == (6000, GUESSED)


def test_lost_reporter_takes_along_what_it_reported_of_others(book: BindingStore) -> None:
    there = gpu(0)._replace(node_names=("n1",))
    book.add("head", there, "n1")
    book.end_all("n1", 4000)
    assert ends(book)["n1 gpu:0"] == (None, TOLD)  # the scheduler still says so
    book.end_all("head", 5000)
    assert ends(book)["n1 gpu:0"] == (5000, UNHEARD)
    book.replace_held("head", [there], 6000, {("n1",): "n1"})
    assert ends(book)["n1 gpu:0"] == (None, TOLD)


@pytest.mark.parametrize("returned_first", [True, False])
def test_controllers_that_take_over_from_each_other_end_nothing(
    book: BindingStore, returned_first: bool
) -> None:
    book.add("spare", gpu(0), "n1")
    reports = [("head", gpu(0)), ("spare", gpu(0, end=5000))]  # the spare one falls silent
    for reporter, binding in reports if returned_first else reversed(reports):
        book.add(reporter, binding, "n1")
    assert ends(book) == {"n1 gpu:0": (None, TOLD)}
    book.add("head", gpu(0, end=7000)._replace(facts={"state": "COMPLETED"}), "n1")
    assert ends(book) == {"n1 gpu:0": (7000, TOLD)}


def test_job_known_by_another_name_in_cgroups_gets_its_id(book: BindingStore) -> None:
    sluid = "s5AXM7Q1J4JD00"
    book.add("n1", process(0, 1500, job=sluid))
    assert [job.id for job in book.jobs.find()] == [sluid]
    named = gpu(1)._replace(facts={"sluid": sluid})
    book.add("head", named, "n1")
    book.add("n1", process(2, 1500, job=sluid))
    (job,) = book.jobs.find()
    assert (job.id, job.gpus) == ("17", ["n1:0", "n1:1", "n1:2"])


def ended_node(job: str, begin: int, end: int, gpus: int) -> Binding:
    facts = {"held_gpus": str(gpus), "state": "COMPLETED"}
    return Binding("node", "job", job, begin, end, "ada", "slurm", facts)


def test_end_without_indices_ends_the_gpus_that_were_seen(book: BindingStore) -> None:
    book.add("head", gpu(0), "n1")
    book.add("head", gpu(1), "n1")
    book.replace_held("head", [], 9000)  # the agent was restarted, and cannot say when they ended
    book.add("head", ended_node("17", 1000, 8000, 2), "n1")
    assert ends(book) == {"n1 gpu:0": (8000, TOLD), "n1 gpu:1": (8000, TOLD)}
    (job,) = book.jobs.find()
    assert (job.end_ms, job.facts["state"]) == (8000, "COMPLETED")


def test_thousand_short_jobs_are_counted_by_the_schedulers_own_times(tmp_path: Path) -> None:
    database = ClusterDatabase(tmp_path / FILE)
    book = BindingStore(database, clock=lambda: 10_000_000)
    for number in range(1000):
        book.add("head", ended_node(str(number), number * 1000, number * 1000 + 600, 1), "n1")
        book.add("head", ended_node(f"b{number}", number * 1000, number * 1000 + 300, 2), "n1")  # beside it
    (user,) = book.users.find(BindingFilter(), 0, 10_000_000)
    assert user.held_ms == 1000 * 600 + 2 * 1000 * 300
    database.close()
