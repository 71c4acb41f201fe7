"""The forms in which lines of the kernel's log are kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.sources._log_lines import parse_logged, parse_record


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


NOW = _ms("2026-11-16T04:00:00+00:00")
HOUR = 3600


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("Nov 16 03:04:05 gpu17 kernel: hello", "2026-11-16T03:04:05+00:00"),
        ("Nov  6 03:04:05 gpu17 kernel: [   12.345678] hello", "2026-11-06T03:04:05+00:00"),
        ("Dec 31 23:59:60 gpu17 kernel: [  12.345678][   T42] hello", "2025-12-31T23:59:59+00:00"),
        ("Feb 29 00:00:00 gpu17 kernel: hello", ""),
        ("2026-11-16T03:04:05.123456+01:00 gpu17 kernel: hello", "2026-11-16T02:04:05.123+00:00"),
        ("2026-11-16T03:04:05.123456789Z gpu17 kernel: [12.3] hello", "2026-11-16T03:04:05.123+00:00"),
        ("2026-11-16T03:04:05+0100 gpu17 kernel: hello", "2026-11-16T02:04:05+00:00"),
        ("2026-11-16T03:04:05 gpu17 kernel: hello", "2026-11-16T03:04:05+00:00"),
        ("2026-11-16T05:04:05Z gpu17 kernel: hello", "2026-11-16T04:00:00+00:00"),
        ("2026-13-16T03:04:05Z gpu17 kernel: hello", ""),
        ("Nov 16 03:04:05 gpu17 systemd[1]: kernel: hello", ""),
        ("Foo 16 03:04:05 gpu17 kernel: hello", ""),
        ("Nov 31 03:04:05 gpu17 kernel: hello", ""),
    ],
)
def test_a_line_of_a_log_file_has_its_time_in_either_form(line: str, when: str) -> None:
    found = parse_logged(line, NOW, 0)
    assert (found is not None) == bool(when)
    if found:
        assert (found.time_ms, found.text) == (_ms(when), "hello")


def test_a_classic_line_is_in_the_machines_own_zone() -> None:
    found = parse_logged("Nov 16 03:04:05 gpu17 kernel: hello", NOW, HOUR)
    assert found is not None
    assert found.time_ms == _ms("2026-11-16T02:04:05+00:00")


def test_in_january_a_line_of_december_is_of_last_year() -> None:
    now = _ms("2027-01-01T00:00:10+00:00")
    found = parse_logged("Dec 31 23:59:58 gpu17 kernel: hello", now, 0)
    assert found is not None
    assert datetime.fromtimestamp(found.time_ms / 1000, UTC).year == 2026


def test_a_record_tells_who_wrote_it() -> None:
    ours, theirs = (
        parse_record("6,339,5140900,-;NVRM: hello; again"),
        parse_record("14,340,5140901,c,caller=T1;hello"),
    )
    assert ours is not None
    assert theirs is not None
    assert (ours.sequence, ours.since_boot_ms, ours.text, ours.by_kernel) == (
        339,
        5140,
        "NVRM: hello; again",
        True,
    )
    assert not theirs.by_kernel


@given(st.text(max_size=200), st.integers(0, 1 << 42), st.integers(-50_000, 50_000))
def test_whatever_a_line_holds_it_is_read_or_left(line: str, now: int, offset: int) -> None:
    found = parse_logged(line, now, offset)
    assert found is None or found.time_ms <= now
    assert parse_record(line) is None or ";" in line


@given(
    st.from_regex(
        r"\A([A-Z][a-z]{2}  ?\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) h kernel: x\Z"
    ),
    st.integers(0, 1 << 42),
)
def test_impossible_dates_are_left(line: str, now: int) -> None:
    found = parse_logged(line, now, 0)
    assert found is None or found.time_ms <= now
