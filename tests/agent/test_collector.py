from __future__ import annotations

import asyncio
import threading

from tests.agent.sources import Hanging, failing, reading, steady
from vigie.agent.collector import Collector
from vigie.agent.source_reader import Outcome
from vigie.sources.core.lane import Lane, run_all


def test_hanging_source_costs_only_itself_and_is_taken_up_again() -> None:
    hanging = Hanging("hanging")
    readings = [reading(steady("a")), reading(hanging.source), reading(steady("z"))]
    collector = Collector(readings, quick=0.05)

    async def scenario() -> None:
        await collector.refresh_quick(readings)
        assert [r.outcome for r in readings] == [Outcome.OK, Outcome.HUNG, Outcome.OK]
        assert "timed out after 0.05s" in readings[1].reason
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
        waiting = collector.refresh_in_turn([slow])
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


def test_thread_that_has_made_the_calls_of_one_lane_makes_those_of_the_next() -> None:
    first, second = Lane("first", 5), Lane("second", 5)
    threads: list[int] = []
    finished = threading.Event()

    def call() -> None:
        threads.append(threading.get_ident())

    first.submit([call], lambda: first.hand_over(second, [call], finished.set))
    assert finished.wait(5)
    assert threads[0] == threads[1]
    assert run_all(first, [call]) == []
    assert threads[2] != threads[0], "the first lane has a thread of its own again"
    first.close()
    second.close()


def test_lane_with_more_to_do_keeps_its_thread() -> None:
    first, second = Lane("first", 5), Lane("second", 5)
    threads: dict[str, int] = {}
    entered, go, stay, finished = (threading.Event() for _ in range(4))

    def begin() -> None:
        entered.set()
        go.wait()
        threads["begin"] = threading.get_ident()

    def wait() -> None:
        stay.wait()

    def more() -> None:
        threads["more"] = threading.get_ident()

    first.submit([begin], lambda: first.hand_over(second, [wait], lambda: None))
    assert entered.wait(5)
    first.submit([more], finished.set)
    go.set()
    assert finished.wait(5), "what waits on the first lane does not wait for the second"
    assert threads["more"] == threads["begin"]
    stay.set()
    first.close()
    second.close()


def test_slow_source_that_hangs_behind_quick_ones_is_left_behind() -> None:
    hanging = Hanging("slow")
    readings = [reading(steady("quick")), reading(hanging.source._replace(slow=True))]
    collector = Collector(readings, slow=0.05)

    async def scenario() -> None:
        await collector.refresh_in_turn(readings)
        assert [r.outcome for r in readings] == [Outcome.OK, Outcome.HUNG]
        hanging.go.set()

    asyncio.run(scenario())
    collector.close()


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
