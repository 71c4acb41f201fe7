"""Upkeep gives way to queries for a moment, and never for good."""

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


def _go_on(throttle: MaintenanceThrottle, gone_on: threading.Event) -> None:
    if throttle.may_continue():
        gone_on.set()


def test_maintenance_waits_until_the_last_query_is_answered() -> None:
    throttle, gone_on = MaintenanceThrottle(max_yield_seconds=LONG), threading.Event()
    with throttle.query_running():
        with throttle.query_running():
            thread = threading.Thread(target=_go_on, args=(throttle, gone_on))
            thread.start()
        assert not gone_on.wait(0.05), "one is still being answered"
    assert gone_on.wait(LONG)
    thread.join()


def test_maintenance_goes_on_at_once_where_no_query_runs_and_not_when_the_store_closes() -> None:
    throttle = MaintenanceThrottle(max_yield_seconds=LONG)
    assert throttle.may_continue()
    throttle.stop()
    assert not throttle.may_continue()


def test_a_round_has_only_so_much_patience_in_all_and_the_next_one_has_its_own() -> None:
    throttle = MaintenanceThrottle(max_yield_seconds=0.01)
    with throttle.query_running():
        assert throttle.may_continue()
        assert throttle.may_continue(), "whoever asks on and on holds up no round for good"
        throttle.start_round()
        assert throttle.may_continue()


def test_maintenance_that_waits_ends_when_the_store_closes() -> None:
    throttle, gone_on = MaintenanceThrottle(max_yield_seconds=LONG), threading.Event()
    with throttle.query_running():
        thread = threading.Thread(target=_go_on, args=(throttle, gone_on))
        thread.start()
        throttle.stop()
        thread.join()
    assert not gone_on.is_set()


def test_a_query_that_fails_holds_up_nothing() -> None:
    throttle = MaintenanceThrottle(max_yield_seconds=LONG)
    try:
        with throttle.query_running():
            raise ValueError
    except ValueError:
        assert throttle.may_continue()


def test_maintenance_is_done_beside_queries_without_an_end(tmp_path: Path) -> None:
    with Store(tmp_path, head_limits=HeadLimits(head_rows=4, least_rows=4)) as store, store.query_running():
        for step in range(1, 9):
            store.append(NODE, frame(step * 1000, ["a"], [step, step]))
        store.maintain(8000)
        with closing(sqlite3.connect(tmp_path / "blocks.sqlite")) as blocks:
            assert blocks.execute("SELECT count(*) FROM chunk").fetchone() > (0,)
