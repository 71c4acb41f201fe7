from __future__ import annotations

import asyncio
import threading

from tests.agent.sources import Hanging, failing, reading, steady
from vigie.agent.collector import Collector
from vigie.agent.reading import Outcome
from vigie.sources._lane import Lane, run_all


def test_hanging_source_costs_only_itself_and_is_taken_up_again() -> None:
    hanging = Hanging("hanging")
    readings = [reading(steady("a")), reading(hanging.source), reading(steady("z"))]
    collector = Collector(readings, quick=0.05)

    async def scenario() -> None:
        await collector.refresh_quick(readings)
        assert [r.outcome for r in readings] == [Outcome.OK, Outcome.HUNG, Outcome.OK]
        assert "no answer within 0.05 s" in readings[1].reason
        await collector.refresh_quick(readings)
        assert hanging.reads == 1, "a source that hangs is not asked again"
        hanging.go.set()
        while readings[1].busy:
            await asyncio.sleep(0.001)
        await collector.refresh_quick(readings)
        assert [r.outcome for r in readings] == [Outcome.OK] * 3

    asyncio.run(scenario())
    collector.close()


def test_raising_source_costs_only_itself() -> None:
    readings = [reading(failing("bad", ZeroDivisionError())), reading(steady("good"))]
    collector = Collector(readings)
    asyncio.run(collector.refresh_quick(readings))
    assert [r.outcome for r in readings] == [Outcome.ERROR, Outcome.OK]
    collector.close()


def test_slow_source_does_not_delay_the_quick_ones() -> None:
    hanging = Hanging("slow")
    slow = reading(hanging.source._replace(slow=True))
    quick = reading(steady("quick"))
    collector = Collector([slow, quick])

    async def scenario() -> None:
        waiting = asyncio.ensure_future(collector.refresh_slow([slow]))
        while not hanging.entered.is_set():
            await asyncio.sleep(0.001)
        await collector.refresh_quick([quick])
        assert [quick.outcome, slow.outcome] == [Outcome.OK, Outcome.PENDING]
        hanging.go.set()
        await waiting
        assert [slow.outcome] == [Outcome.OK]

    asyncio.run(scenario())
    collector.close()


def test_reading_without_a_loop_leaves_hanging_sources_behind_too() -> None:
    hanging = Hanging("hanging")
    readings = [reading(hanging.source), reading(steady("a"))]
    collector = Collector(readings, slow=0.05)
    collector.refresh_now()
    assert [r.outcome for r in readings] == [Outcome.HUNG, Outcome.OK]
    hanging.go.set()
    collector.close()


def test_lane_finishes_the_batch_behind_two_hanging_calls() -> None:
    go = threading.Event()
    made: list[str] = []
    lane = Lane("test", 0.05)

    def first() -> None:
        go.wait()

    def second() -> None:
        go.wait()

    late = run_all(lane, [first, lambda: made.append("a"), second, lambda: made.append("b")])
    assert late == [first, second]
    assert made == ["a", "b"]
    go.set()
    lane.close()


def test_source_that_is_being_read_is_not_read_by_another_lane_but_waited_for() -> None:
    hanging = Hanging("hanging")
    read = reading(hanging.source)
    collector = Collector([read])

    async def scenario() -> None:
        waiting = asyncio.ensure_future(collector.refresh_quick([read]))
        while not hanging.entered.is_set():
            await asyncio.sleep(0.001)
        everything = asyncio.ensure_future(collector.refresh_all([read]))
        await asyncio.sleep(0)
        hanging.go.set()
        await everything
        assert (hanging.reads, read.outcome) == (1, Outcome.OK)
        await waiting

    asyncio.run(scenario())
    collector.close()
