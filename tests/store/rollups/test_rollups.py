"""Rollups beside a store: they follow late data, restarts and kills, and outlive raw data."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.store.frames import NODE, frame
from vigie.query.buckets import FIELDS
from vigie.query.engine import Engine, QueryResult
from vigie.query.storage import Matcher
from vigie.simulation.memory_storage import MemoryStorage
from vigie.store.retention import Retention
from vigie.store.rollups.tier import BuiltPages, TierClaim
from vigie.store.store import Store
from vigie.store.throttle import MaintenanceThrottle
from vigie.store.wal.records import StreamName

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
HOUR, DAY, STEP = 3_600_000, 86_400_000, 60_000
START = 1_700_000_000_000 // (3 * DAY) * 3 * DAY
HOURS = 13
END = START + HOURS * HOUR
POWER = [Matcher("__name__", "=", "power_watts")]
KEPT = Retention(age_ms=2 * HOUR)
RANGES = ["rate", "increase", "delta", "min_over_time", "max_over_time", "sum_over_time", "avg_over_time"]
RANGES += ["count_over_time", "present_over_time", "first_over_time", "last_over_time"]


def value(step: int) -> float:
    return float((step * 7) % 1000)  # a counter that starts again now and then


def fill(store: Store, first: int = 1, last: int = HOURS * 60, leave_out: range = range(0)) -> None:
    for step in range(first, last + 1):
        if step not in leave_out and not 200 <= step < 230:
            store.append(NODE, frame(START + step * STEP, "a", [value(step), 5.0]))
    store.sync()


def buckets(store: Store, width: int) -> dict[str, list[float]]:
    (group,) = store.rollups(POWER, START, END // width * width, width, FIELDS)
    return {name: getattr(group.buckets, name)[0].tolist() for name in FIELDS}


def pages(store: Store) -> list[int]:
    return [len(tier.blocks.oldest(1000)) for tier in store._rollups.tiers]


def numbers(store: Store) -> list[list[int]]:
    return [[number for number, *_ in tier.blocks.oldest(1000)] for tier in store._rollups.tiers]


def points(answer: QueryResult) -> list[tuple[list[int], list[str]]]:
    return [(s.times.tolist(), [f"{each:.9g}" for each in s.values]) for s in answer.series]


def test_pages_say_what_raw_samples_said_before(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store)
        before = [buckets(store, width) for width in store.rollup_widths()]
        store.maintain(END)
        store.maintain(END + DAY)  # by then the hours are due too
        assert all(pages(store))
        for made, expected in zip(store.rollup_widths(), before, strict=True):
            np.testing.assert_equal(buckets(store, made), expected)


def test_pages_are_there_after_a_restart(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store)
        store.maintain(END)
        before, count = buckets(store, 300_000), pages(store)
    with Store(tmp_path) as store:
        assert pages(store) == count
        np.testing.assert_equal(buckets(store, 300_000), before)


def test_a_restart_has_no_page_rebuilt_that_had_all_rows(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store, last=HOURS * 60 - 10)
        store.maintain(END - 10 * STEP)
        fill(store, first=HOURS * 60 - 9)  # these rows are still in the log alone when their pages are made
        store.maintain(END + 11 * STEP)
        before = numbers(store)
    with Store(tmp_path) as store:
        assert any(stream.heads() for stream in store._index)
        store.maintain(END + 12 * STEP)
        assert numbers(store) == before


def test_a_late_row_is_known_after_a_restart_though_another_page_was_made_since(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store, leave_out=range(100, 140))
        store.maintain(END)
        fill(store, 100, 139)
        fill(store, HOURS * 60 + 1, HOURS * 60 + 10)
        maker, (stream,) = store._rollups._builder, store._index
        page = START + 12 * HOUR
        newest = TierClaim(stream.name, page, END + 10 * STEP)
        maker._build(0, [(stream, newest)], store._lock, MaintenanceThrottle())
        expected = buckets(store, 300_000)
        assert expected["count"][20] == 5.0
    with Store(tmp_path) as store:
        np.testing.assert_equal(buckets(store, 300_000), expected)
        store.maintain(END + 2 * STEP)
        np.testing.assert_equal(buckets(store, 300_000), expected)


def test_a_late_row_is_known_although_the_log_was_lost_before(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for _ in range(3):
            fill(store, leave_out=range(100, 140))
            store._log.rotate()
        store.maintain(END)
        store.flush()
    with sqlite3.connect(tmp_path / "blocks.sqlite") as blocks:
        blocks.execute("UPDATE stream SET flushed = 0")
    for path in (tmp_path / "log").iterdir():
        path.unlink()
    with Store(tmp_path) as store:
        fill(store, 100, 139)
    with Store(tmp_path) as store:
        store.maintain(END + 2 * STEP)
        assert buckets(store, 300_000)["count"][20] == 5.0


@pytest.mark.parametrize("how", ["at once", "after a restart", "flushed", "flushed and restarted", "rebuilt"])
def test_late_rows_are_in_the_rollups(how: str, tmp_path: Path) -> None:
    late = range(100, 140)
    with Store(tmp_path / "whole") as whole:
        fill(whole)
        expected = [buckets(whole, width) for width in whole.rollup_widths()]
    store = Store(tmp_path / "late")
    fill(store, leave_out=late)
    store.maintain(END)
    fill(store, late.start, late.stop - 1)
    if how.startswith("flushed"):
        store.flush()
    if how == "rebuilt":
        store.maintain(END + 2 * STEP)
    if how.endswith("restarted") or how == "after a restart":
        store.close()
        store = Store(tmp_path / "late")
    with store:
        for width, whole_buckets in zip(store.rollup_widths(), expected, strict=True):
            np.testing.assert_equal(buckets(store, width), whole_buckets)


KILLED = """
import os, signal, sys
from tests.store.rollups.test_rollups import END, fill
from vigie.store.store import Store

store = Store(sys.argv[1])
fill(store, leave_out=range(100, 140))
store.maintain(END)
fill(store, 100, 139)
store.flush()  # the late rows have left the log, the pages are not rebuilt
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_kill_between_blocks_and_pages_loses_no_late_row(tmp_path: Path) -> None:
    with Store(tmp_path / "whole") as store:
        fill(store)
        expected = buckets(store, 300_000)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "killed")]
    assert subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == -signal.SIGKILL
    with Store(tmp_path / "killed") as store:
        assert pages(store)[0] > 0
        np.testing.assert_equal(buckets(store, 300_000), expected)
        store.maintain(END + 2 * STEP)
        np.testing.assert_equal(buckets(store, 300_000), expected)


def test_clock_that_was_ahead_for_a_while_holds_up_nothing(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store)
        store.maintain(END)
        before = pages(store)
        store.maintain(END + 30 * DAY)
        assert store.raw_since() == END + 1, "which is when the newest of what went was"
        fill(store, HOURS * 60 + 1, HOURS * 120)
        store.maintain(END + HOURS * HOUR)
        assert pages(store)[0] > before[0]


@pytest.mark.parametrize("name", RANGES)
def test_where_raw_has_gone_rollups_answer_and_say_so(name: str, tmp_path: Path) -> None:
    query = f"{name}(power_watts[20m])"
    with Store(tmp_path, retention=KEPT) as store:
        fill(store)
        raw = MemoryStorage(store.select(POWER, START, END))
        before = Engine(raw).range(query, START + HOUR, END, 300_000)
        store.maintain(END)
        store.flush()
        store.maintain(END + 2 * STEP)
        assert store.raw_since() > START + HOUR
        after = Engine(store).range(query, START + HOUR, END, 300_000)
        assert "from rollups of 5 min where raw samples have gone" in after.warnings[0]
        assert points(after) == points(before)


def test_instant_selectors_see_the_last_sample_of_a_bucket(tmp_path: Path) -> None:
    with Store(tmp_path, retention=KEPT) as store:
        fill(store)
        store.maintain(END)
        store.flush()
        store.maintain(END + 2 * STEP)
        answer = Engine(store).instant("power_watts", START + 2 * HOUR)
        assert [each.values.tolist() for each in answer.series] == [[value(120)]]
        assert answer.warnings
        assert store.label_values("sensor", [], START, START + HOUR) == ["a"]


def test_what_rollups_cannot_answer_is_left_out_and_reported(tmp_path: Path) -> None:
    with Store(tmp_path, retention=KEPT) as store:
        fill(store)
        store.maintain(END)
        store.flush()
        store.maintain(END + 2 * STEP)
        answer = Engine(store).range("stddev_over_time(power_watts[20m])", START + HOUR, END, 300_000)
        assert answer.series[0].times[0] > store.raw_since()
        assert "stddev_over_time() needs raw samples, kept since" in answer.warnings[0]
        gone = Engine(store).range(
            "absent_over_time(power_watts[20m])", START + HOUR, START + 2 * HOUR, 300_000
        )
        assert gone.series == []


@pytest.mark.parametrize(
    ("step", "length", "used"),
    [(600, "10m", True), (300, "15m", True), (300, "12m", False), (60, "15m", False), (600, "5m", False)],
)
def test_rollups_stand_in_for_raw_where_ranges_are_made_of_buckets(
    step: int, length: str, used: bool, tmp_path: Path
) -> None:
    with Store(tmp_path) as store:
        fill(store)
        store.maintain(END)
        answer = Engine(store).range(f"rate(power_watts[{length}])", START + HOUR, END, step * 1000)
        assert bool(answer.warnings) is used
        shifted = Engine(store).range(f"rate(power_watts[{length}])", START + HOUR + 1, END, step * 1000)
        assert shifted.warnings == ()


def test_a_deleted_node_has_no_rollups(tmp_path: Path) -> None:
    with Store(tmp_path, retention=KEPT) as store:
        fill(store)
        store.maintain(END)
        store.flush()
        store.maintain(END + DAY)
        assert not store.select(POWER, START, END)
        assert pages(store) != [0, 0]
        assert store.delete([Matcher("instance", "=", "n1")]) == 1
        assert pages(store) == [0, 0]
        assert not list(store.rollups(POWER, START, END, 300_000, FIELDS))


@pytest.mark.parametrize("name", RANGES)
def test_rollups_that_stand_in_for_raw_say_the_same(name: str, tmp_path: Path) -> None:
    query, step = f"{name}(power_watts[20m])", 600_000
    with Store(tmp_path) as store:
        fill(store)
        store.maintain(END)
        engine = Engine(store)
        rolled_up = engine.range(query, START + HOUR, END, step)
        assert rolled_up.warnings
        single = [engine.instant(query, at) for at in range(START + HOUR, END + 1, step)]
        assert not any(each.warnings for each in single)
        raw = [each.series[0].values[0] for each in single if each.series]
        np.testing.assert_allclose(rolled_up.series[0].values, raw, 1e-12)


def test_pages_past_their_age_go_and_nothing_waits_for_ever(tmp_path: Path) -> None:
    with Store(tmp_path, retention=KEPT) as store:
        fill(store)
        store.maintain(END)
        store.flush()
        store.maintain(END + DAY)
        assert pages(store) != [0, 0]
        store.maintain(END + 800 * DAY)
        assert pages(store) == [0, 0]
        assert not list(store.rollups(POWER, START, END, 300_000, FIELDS))
        assert store.label_values("sensor", [], START, END) == []


def test_a_young_stream_has_no_page_before_it_has_hours(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for step in range(1, 110):
            store.append(NODE, frame(START + HOUR + step * STEP, "a", [value(step), 5.0]))
            store.maintain(START + HOUR + step * STEP)
        assert pages(store) == [0, 0]


def test_a_row_from_before_the_first_page_is_in_the_rollups_when_raw_has_gone(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store, first=400)
        store.maintain(END)
        store.append(NODE, frame(START + 30 * STEP, "a", [7.0, 5.0]))
        store.maintain(END + 2 * STEP)
    with Store(tmp_path, retention=KEPT) as store:
        store.flush()
        store.maintain(END + 4 * STEP)
        assert store.raw_since() > START + HOUR
        assert buckets(store, 300_000)["count"][5] == 1.0


def test_a_late_row_while_its_page_is_made_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path) as store:
        fill(store, leave_out=range(100, 101))
        tier = store._rollups.tiers[0]
        write = tier.write

        def late(batch: Sequence[BuiltPages]) -> dict[StreamName, int]:
            fill(store, 100, 100)
            return write(batch)

        monkeypatch.setattr(tier, "write", late)
        store.maintain(END)
        monkeypatch.undo()
        before = buckets(store, 300_000)
        assert before["count"][19] == 5.0
        store.maintain(END + 2 * STEP)
        store.flush()
    with Store(tmp_path) as store:
        np.testing.assert_equal(buckets(store, 300_000), before)


def test_bytes_of_rollups_are_counted_and_capped(tmp_path: Path) -> None:
    with Store(tmp_path / "any", retention=Retention(max_bytes=0)) as store:
        fill(store)
        store.maintain(END)
        assert store.bytes_on_disk()[0] > store._blocks.size()
        assert pages(store)[0] > 1
    with Store(tmp_path / "any", retention=Retention(max_bytes=4)) as store:
        store.maintain(END + 2 * STEP)
        assert pages(store) == [0, 0]


@pytest.mark.parametrize("fold", ["sum", "avg", "max", "count"])
def test_aggregations_of_rollups_say_what_aggregations_of_raw_say(fold: str, tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store)
        query, span = f"{fold} by (sensor, __name__) (last_over_time(power_watts[15m]))", (START + HOUR, END)
        rolled_up, raw = (Engine(store).range(query, span[0] + off, span[1], 300_000) for off in (0, 1))
        assert [dict(each.labels) for each in rolled_up.series] == [dict(each.labels) for each in raw.series]
        assert "rollups" in rolled_up.warnings[0]
        assert not raw.warnings
        rated = Engine(store).range(f"{fold} by (sensor) (rate(power_watts[15m]))", *span, 300_000)
        alone = Engine(store).range("rate(power_watts[15m])", *span, 300_000)
        wanted = "1" if fold == "count" else None
        for one, other in zip(points(rated), points(alone), strict=True):
            assert one[0] == other[0]
            assert one[1] == [wanted or each for each in other[1]]
