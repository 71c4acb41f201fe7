"""Damaged rollup pages are reported, and rebuilt where that is possible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.store.frames import NODE, frame
from tests.store.rollups.test_rollups import END, HOUR, HOURS, KEPT, START, STEP, buckets, fill, pages
from vigie.query.buckets import FIELDS
from vigie.query.storage import Matcher
from vigie.store.errors import StoreError
from vigie.store.store import Store

pytestmark = pytest.mark.process


def test_unreadable_file_is_put_aside_and_rebuilt(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store)
        store.maintain(END)
        expected, count = buckets(store, 300_000), pages(store)
    for ending in ("-wal", "-shm"):
        (tmp_path / f"rollups-5m.sqlite{ending}").unlink(missing_ok=True)
    (tmp_path / "rollups-5m.sqlite").write_bytes(b"not a database at all" * 500)
    with Store(tmp_path) as store:
        assert any("rollups-5m" in damage and "moved to" in damage for damage in store.corruption_reports)
        np.testing.assert_equal(buckets(store, 300_000), expected)
        store.maintain(END + 2 * STEP)
        assert pages(store) == count
        assert store.check() == []


def test_damaged_page_is_reported_and_rebuilt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Store(tmp_path) as store:
        fill(store)
        store.maintain(END)
        expected = buckets(store, 300_000)
        blocks = store._rollups.tiers[0].blocks
        with blocks.transaction():
            blocks.database.writer.execute("UPDATE blob SET content = zeroblob(length(content))")
        assert store.check()
        np.testing.assert_equal(buckets(store, 300_000), expected)
        assert "rebuilt" in caplog.text
        store.maintain(END + 2 * STEP)
        assert store.check() == []


def test_file_that_cannot_be_opened_is_an_error_and_stays_where_it_is(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store)
        store.maintain(END)
        count = pages(store)
    in_the_way = tmp_path / "rollups-5m.sqlite-shm"
    in_the_way.unlink(missing_ok=True)
    in_the_way.mkdir()
    with pytest.raises(StoreError, match="cannot open"):
        Store(tmp_path)
    in_the_way.rmdir()
    with Store(tmp_path) as store:
        assert pages(store) == count


def spoil_values(store: Store, first_at: int) -> None:
    """Zero some bytes of the first values of the page's part that begins here."""
    blocks = store._rollups.tiers[0].blocks
    with blocks.transaction():
        blocks.database.writer.execute(
            "UPDATE blob SET content = CAST(zeroblob(100) || substr(content, 101) AS BLOB) "
            "WHERE number = (SELECT first_blob FROM chunk WHERE start = ?)",
            (first_at,),
        )


def samples_in(store: Store, name: str) -> int:
    found = store.rollups([Matcher("__name__", "=", name)], START, END, 300_000, FIELDS)
    return int(sum(group.buckets.count.max(axis=0).sum() for group in found))


def test_damaged_part_of_a_page_is_rebuilt_also_where_the_page_does_not_begin_with_it(
    tmp_path: Path,
) -> None:
    with Store(tmp_path) as store:
        fill(store, first=200)
        store.maintain(END)
        spoil_values(store, START + 2 * HOUR)
        before = samples_in(store, "power_watts")
        store.maintain(END + 2 * STEP)
        assert store.check() == []
        assert samples_in(store, "power_watts") == before == HOURS * 60 - 229


def test_a_page_that_grows_is_rebuilt_where_its_series_are_damaged(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        fill(store, last=4 * 60)
        store.maintain(START + 4 * HOUR)
        blocks = store._rollups.tiers[0].blocks
        damaged = {span.layout for span in blocks.spans(1)}
        with blocks.transaction():
            blocks.database.writer.execute("UPDATE layout SET series = zeroblob(length(series))")
        blocks.layouts.forget()
        fill(store, first=4 * 60 + 1, last=6 * 60)
        store.maintain(START + 6 * HOUR)
        (whole,) = blocks.spans(1)
        assert (whole.start, whole.end) == (START, START + 6 * HOUR)
        assert whole.layout not in damaged
        assert samples_in(store, "power_watts") == 6 * 60 - 30


def test_damage_where_raw_has_gone_costs_no_other_series(tmp_path: Path) -> None:
    sensors = [str(number) for number in range(60)]  # so that metrics are not compressed together
    with Store(tmp_path, retention=KEPT) as store:
        for step in range(1, HOURS * 60 + 1):
            store.append(NODE, frame(START + step * STEP, sensors, [float(step % 50)] * 120))
        store.maintain(END)
        store.flush()
        store.maintain(END + 2 * STEP)
        assert store.raw_since() > START + 6 * HOUR
        spoil_values(store, START)
        assert samples_in(store, "power_watts") == (HOURS - 6) * 60
        store.maintain(END + 4 * STEP)
        assert samples_in(store, "temperature_celsius") == HOURS * 60
        assert any("not readable" in damage for damage in store.corruption_reports)
