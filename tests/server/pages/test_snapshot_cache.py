"""Pictures are shared by those who look, taken again when they are old, and say what could not be asked."""

from __future__ import annotations

import asyncio
import doctest
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import pytest

from tests.server.pages.place import MINUTE, NOW, gpu, sample
from vigie.query.engine import Engine
from vigie.query.errors import ExecutionError, QueryError
from vigie.server.pages import humanize, queries, rows
from vigie.server.pages import snapshot_cache as module
from vigie.server.pages.cluster_page import build_cluster_page
from vigie.server.pages.cluster_state import NO_LEDGERS, EmptyClusterState
from vigie.server.pages.incident_monitor import UNFINISHED, IncidentMonitor
from vigie.server.pages.job_page import build_jobs_page
from vigie.server.pages.queries import SLOW
from vigie.server.pages.query_batch import BatchQuery, BatchResult, QuerySpan, RemoteRunner
from vigie.server.pages.snapshot_cache import SnapshotCache
from vigie.server.pages.widgets import CRITICAL, OK, UNKNOWN, build_verdict, qualify
from vigie.server.privacy.redactor import Redactor
from vigie.simulation.memory_storage import MemoryStorage
from vigie.store.heads.ungrouped import Samples
from vigie.wire.api.rows import Holder


class There(Engine):
    """An engine elsewhere, over samples in memory."""

    def __init__(self, *samples: Samples) -> None:
        self.storage = MemoryStorage()
        for one in samples:
            self.storage.add(one.labels, one.times, one.values)
        super().__init__(self.storage)

    def label_values(self, *given: Any) -> list[str]:
        return self.storage.label_values(*given)


class Counting:
    """Counts what is asked, and fails when it is told to."""

    def __init__(self, *samples: Samples) -> None:
        self._runner = RemoteRunner(There(*samples))
        self.asked: list[int | QuerySpan] = []
        self.error: QueryError | None = None

    async def run(
        self, queries: Mapping[str, BatchQuery], at: int | QuerySpan, seconds: float = 20
    ) -> BatchResult:
        self.asked.append(at)
        if self.error:
            raise self.error
        return await self._runner.run(queries, at, seconds)

    async def names(self, at_ms: int) -> list[str]:
        return await self._runner.names(at_ms)

    @property
    def moments(self) -> int:
        """Tell how many questions were about one moment."""
        return sum(not isinstance(at, QuerySpan) for at in self.asked)


LONG = 600.0  # seconds that a page waits for the first look, however loaded the machine is
HELD = {"gpu": "0", "resource": "gpu:0", "kind": "job", "holder": "17", "user": "ada"}


def run(test: Callable[[], Any]) -> None:
    asyncio.run(test())


def test_many_who_look_at_once_cost_what_one_costs() -> None:
    async def test() -> None:
        runner = Counting(sample("up", 1), *gpu(0, 0.5))
        snapshots = SnapshotCache(runner, EmptyClusterState(), lambda: NOW, patience=LONG)
        taken = await asyncio.gather(*(snapshots.at() for _ in range(20)))
        assert len({id(snapshot) for snapshot in taken}) == 1
        assert runner.moments == 3  # the snapshot, which GPUs there were lately, and whether it is new

    run(test)


def test_whoever_leaves_takes_the_picture_from_nobody() -> None:
    async def test() -> None:
        snapshots = SnapshotCache(Counting(sample("up", 1)), EmptyClusterState(), lambda: NOW, patience=LONG)
        first, second = (asyncio.ensure_future(snapshots.at()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).at_ms == NOW

    run(test)


def test_question_that_failed_is_asked_again() -> None:
    async def test() -> None:
        runner = Counting(sample("up", 1))
        runner.error = ExecutionError("too much")
        snapshots = SnapshotCache(runner, EmptyClusterState(), lambda: NOW, patience=LONG)
        with pytest.raises(ExecutionError):
            await snapshots.at()
        runner.error = None
        assert (await snapshots.at()).nodes.keys() == {"n1"}

    run(test)


def test_pictures_that_are_kept_are_bounded() -> None:
    async def test() -> None:
        snapshots = SnapshotCache(Counting(sample("up", 1)), EmptyClusterState(), lambda: NOW, patience=LONG)
        for minute in range(3 * module.MAX_SNAPSHOTS):
            await snapshots.at(NOW - minute * MINUTE)
        assert len(snapshots._pending) == module.MAX_SNAPSHOTS

    run(test)


def test_who_would_wait_long_for_a_new_picture_gets_the_last_one() -> None:
    class Slow(Counting):
        pause: asyncio.Event | None = None

        async def run(
            self, queries: Mapping[str, BatchQuery], at: int | QuerySpan, seconds: float = 20
        ) -> BatchResult:
            if self.pause:
                await self.pause.wait()
            return await super().run(queries, at, seconds)

    async def test() -> None:
        runner = Slow(sample("up", 1))
        snapshots = SnapshotCache(runner, EmptyClusterState(), lambda: NOW, patience=LONG)
        first = await snapshots.at()
        snapshots._cost = 10.0  # as if it had taken so long
        snapshots._pending[None] = snapshots._pending[None]._replace(until=time.monotonic())
        runner.pause = asyncio.Event()
        assert await snapshots.at() is first
        assert await snapshots.at() is first
        runner.pause.set()
        taking = snapshots._pending[None].task
        assert await taking is not first
        assert await snapshots.at() is taking.result()

    run(test)


def test_future_is_not_looked_at() -> None:
    async def test() -> None:
        snapshots = SnapshotCache(Counting(sample("up", 1)), EmptyClusterState(), lambda: NOW, patience=LONG)
        assert (await snapshots.at(NOW + 10**12)).at_ms == NOW

    run(test)


def test_engine_elsewhere_tells_holders_and_what_is_not_known() -> None:
    async def test() -> None:
        runner = RemoteRunner(There(sample("up", 1), *gpu(0, 0.5), sample("vigie_holder_info", 1, **HELD)))
        snapshot = await SnapshotCache(runner, EmptyClusterState(), lambda: NOW, patience=LONG).at()
        page = build_cluster_page(snapshot, Redactor(None), simulated=False)
        assert page.nodes[0].cells[0].holder == Holder("job", "17", "17", "ada")
        assert page.verdict.sentence == "Nothing needs you. 1 of 1 GPU held, 1 working, 0 held but idle."
        jobs = next(row for row in page.numbers if row.key == "jobs")
        assert (jobs.value, jobs.reason) == (None, NO_LEDGERS)
        assert NO_LEDGERS in build_jobs_page(snapshot, Redactor(None), "").verdict.sentence

    run(test)


def test_history_is_carried_on_by_what_is_new() -> None:
    async def test() -> None:
        now = [NOW - 10 * MINUTE]
        runner = Counting(sample("up", 0))
        watch = IncidentMonitor(runner, EmptyClusterState(), lambda: now[0], patience=LONG)
        snapshots = SnapshotCache(runner, EmptyClusterState(), lambda: now[0], patience=LONG)
        snapshot = await snapshots.at()
        (lost,) = (await watch.incidents(snapshot)).incidents
        assert (lost.finding.name, lost.begin_ms) == ("node-lost", NOW - 62 * MINUTE)
        now[0] += MINUTE
        snapshot = await snapshots.at(now[0])
        (again,) = (await watch.incidents(snapshot)).incidents
        assert again.begin_ms == lost.begin_ms
        spans = [at for at in runner.asked if isinstance(at, QuerySpan)]
        assert spans[-1].end - spans[-1].start <= MINUTE

    run(test)


def test_node_that_is_heard_again_is_not_lost_any_more() -> None:
    async def test() -> None:
        up = sample("up", 0)
        runner = Counting(up._replace(values=[*up.values[:-1], 1.0]))
        (was,) = (await SnapshotCache(runner, EmptyClusterState(), lambda: NOW, patience=LONG).at()).incidents
        assert (was.finding.name, was.begin_ms, was.end_ms) == ("node-lost", NOW - 62 * MINUTE, NOW)
        (still,) = (
            await SnapshotCache(runner, EmptyClusterState(), lambda: NOW, patience=LONG).at(NOW - MINUTE)
        ).incidents
        assert still.end_ms is None

    run(test)


def test_samples_that_cannot_be_asked_are_told_and_cost_only_themselves(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        runner = Counting(sample("up", 1))
        snapshots = SnapshotCache(runner, EmptyClusterState(), lambda: NOW, patience=LONG)
        snapshot = await snapshots.at()
        runner.error = ExecutionError("too many samples")
        watch = IncidentMonitor(runner, EmptyClusterState(), lambda: NOW, patience=LONG)
        told = await watch.incidents(snapshot)
        assert (told.incidents, told.missing) == ([], "too many samples")
        snapshot.errors["findings"] = told.missing
        said = qualify(build_cluster_page(snapshot, Redactor(None), simulated=False).verdict, snapshot.unsure)
        assert said.state == "unknown"
        assert "Not all is known yet: too many samples." in said.sentence

    run(test)
    assert "too many samples" in caplog.text


def test_findings_are_not_yet_known_as_long_as_little_was_watched() -> None:
    async def unsure(minutes: int) -> str:
        return (
            await SnapshotCache(
                Counting(sample("up", 1, "n1", minutes)), EmptyClusterState(), lambda: NOW, patience=LONG
            ).at()
        ).unsure

    async def test() -> None:
        assert "less than 10 minutes" in await unsure(5)
        assert await unsure(20) == ""

    run(test)


def test_verdict_that_does_not_know_all_calls_nothing_well_and_keeps_what_is_bad() -> None:
    assert qualify(build_verdict(OK, "It is well."), "no") == build_verdict(
        UNKNOWN, "It is well. Not all is known yet: no."
    )
    assert qualify(build_verdict(CRITICAL, "Broken."), "no").state == CRITICAL
    assert qualify(build_verdict(OK, "It is well."), "") == build_verdict(OK, "It is well.")


class Slow(Counting):
    """Answers questions about the last hours only when it is let."""

    def __init__(self, *samples: Samples) -> None:
        super().__init__(*samples)
        self.let = asyncio.Event()

    async def run(
        self, queries: Mapping[str, BatchQuery], at: int | QuerySpan, seconds: float = 20
    ) -> BatchResult:
        if isinstance(at, QuerySpan):
            await self.let.wait()
        return await super().run(queries, at, seconds)


def test_look_that_ends_while_its_lack_is_told_does_not_make_half_a_list_whole() -> None:
    async def test() -> None:
        loop, runner = asyncio.get_running_loop(), Slow(sample("up", 0))

        class Late(EmptyClusterState):
            """Knows events only when the look at the samples has ended."""

            def events(self, *given: Any) -> Any:
                loop.call_soon_threadsafe(runner.let.set)
                while watch._refresh and not watch._refresh.done():
                    time.sleep(0.001)
                return super().events(*given)

        snapshot = await SnapshotCache(
            Counting(sample("up", 0)), EmptyClusterState(), lambda: NOW, patience=LONG
        ).at()
        watch = IncidentMonitor(runner, Late(), lambda: NOW, patience=0)
        assert await watch.incidents(snapshot) == ([], UNFINISHED)
        assert [each.finding.name for each in (await watch.incidents(snapshot)).incidents] == ["node-lost"]

    run(test)


@pytest.mark.parametrize("at", [None, NOW])
def test_unfinished_list_of_findings_says_so_and_is_not_kept(
    at: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HALF_SECONDS", 0.0)

    async def test() -> None:
        runner = Slow(sample("up", 0))
        snapshots = SnapshotCache(
            runner, EmptyClusterState(), lambda: NOW, patience=0
        )  # whose clock stands still
        first = await snapshots.at(at)
        assert (first.unfinished, first.unsure, first.incidents) == (True, UNFINISHED, [])
        runner.let.set()
        while (then := await snapshots.at(at)).unfinished:
            await asyncio.sleep(0.001)
        assert [incident.finding.name for incident in then.incidents] == ["node-lost"]
        assert then.unsure == ""

    run(test)


def test_large_cluster_is_asked_less_often_about_what_changes_slowly() -> None:
    async def test() -> None:
        runner, now = Names(sample("up", 1), *gpu(0, 0.5)), [NOW]
        snapshots = SnapshotCache(runner, EmptyClusterState(), lambda: now[0], patience=LONG)
        whole = await snapshots.at()
        snapshots._cost = 2 * module.SLOW_SECONDS  # as in a large one
        runner.names_asked.clear()
        quick = await snapshots._query(NOW + 1000)
        (asked,) = runner.names_asked
        assert not asked & set(SLOW)
        assert quick.rows.keys() >= set(SLOW) | asked
        await snapshots._query(NOW + module.SLOW_MS + 1000)
        assert runner.names_asked[-1] >= set(SLOW)
        assert whole.at_ms == NOW

    run(test)


class Names(Counting):
    """Notes which questions are asked together."""

    def __init__(self, *samples: Samples) -> None:
        super().__init__(*samples)
        self.names_asked: list[set[str]] = []

    async def run(
        self, queries: Mapping[str, BatchQuery], at: int | QuerySpan, seconds: float = 20
    ) -> BatchResult:
        self.names_asked.append(set(queries))
        return await super().run(queries, at, seconds)


@pytest.mark.parametrize("each", [humanize, queries, rows], ids=lambda each: each.__name__)
def test_words_are_as_their_examples_say(each: ModuleType) -> None:
    tried = doctest.testmod(each)
    assert (tried.failed, tried.attempted > 0) == (0, True)
