"""Upkeep gives way to questions for a moment, and never for good."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from tests.store.frames import NODE, frame
from vigie.store.heads.stream import HeadLimits
from vigie.store.store import Store
from vigie.store.throttle import MaintenanceThrottle

LONG = 600.0  # seconds


def _go_on(pace: MaintenanceThrottle, gone_on: threading.Event) -> None:
    if pace.goes_on():
        gone_on.set()


def test_upkeep_waits_until_the_last_question_is_answered() -> None:
    pace, gone_on = MaintenanceThrottle(patience=LONG), threading.Event()
    with pace.asked():
        with pace.asked():
            thread = threading.Thread(target=_go_on, args=(pace, gone_on))
            thread.start()
        assert not gone_on.wait(0.05), "one is still being answered"
    assert gone_on.wait(LONG)
    thread.join()


def test_upkeep_goes_on_at_once_where_nobody_asks_and_not_when_the_store_closes() -> None:
    pace = MaintenanceThrottle(patience=LONG)
    assert pace.goes_on()
    pace.end()
    assert not pace.goes_on()


def test_a_round_has_only_so_much_patience_in_all_and_the_next_one_has_its_own() -> None:
    pace = MaintenanceThrottle(patience=0.01)
    with pace.asked():
        assert pace.goes_on()
        assert pace.goes_on(), "whoever asks on and on holds up no round for good"
        pace.begin()
        assert pace.goes_on()


def test_upkeep_that_waits_ends_when_the_store_closes() -> None:
    pace, gone_on = MaintenanceThrottle(patience=LONG), threading.Event()
    with pace.asked():
        thread = threading.Thread(target=_go_on, args=(pace, gone_on))
        thread.start()
        pace.end()
        thread.join()
    assert not gone_on.is_set()


def test_a_question_that_fails_holds_up_nothing() -> None:
    pace = MaintenanceThrottle(patience=LONG)
    try:
        with pace.asked():
            raise ValueError
    except ValueError:
        assert pace.goes_on()


def test_upkeep_is_done_beside_questions_without_an_end(tmp_path: Path) -> None:
    with Store(tmp_path, lengths=HeadLimits(head_rows=4, least_rows=4)) as store, store.asked():
        for step in range(1, 9):
            store.append(NODE, frame(step * 1000, ["a"], [step, step]))
        store.maintain(8000)
        with closing(sqlite3.connect(tmp_path / "blocks.sqlite")) as blocks:
            assert blocks.execute("SELECT count(*) FROM chunk").fetchone() > (0,)
