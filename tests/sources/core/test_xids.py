"""The table of XIDs."""

from __future__ import annotations

import pytest

from vigie.sources.core.xids import ROWS, describe_xid, get_severity


def test_each_number_stands_once_in_order_with_all_its_words() -> None:
    numbers = [row.number for row in ROWS]
    assert numbers == sorted(set(numbers))
    for row in ROWS:
        assert row.name
        assert row.meaning
        assert row.action
        assert row.severity in ("info", "warning", "critical")


@pytest.mark.parametrize("number", [13, 31, 43, 45, 48, 61, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140])
def test_those_that_data_centres_meet_are_there(number: int) -> None:
    assert number in {row.number for row in ROWS}


def test_a_failed_remap_isolates_and_an_unknown_number_is_told_as_such() -> None:
    assert "isolate" in describe_xid(64)
    assert get_severity(79) == "critical"
    assert "unknown XID" in describe_xid(4242)
