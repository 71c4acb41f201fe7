"""What held when: moments that touch are one stretch, whatever pieces they come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vigie.findings.core.finding import LABELS, WARNING, Finding
from vigie.findings.core.history import GAP_MS, KEEP_MS, STEP_MS, History

NAMED = Finding("It holds", WARNING, "Summary.", "Action.", query="x", name="named")
SLOW = NAMED._replace(name="slow", lag_ms=10 * STEP_MS, tail_ms=2 * STEP_MS)
PLACE = ("n1", "0", *[""] * (len(LABELS) - 2))
START = 1_700_000_000_000


def history() -> History:
    return History([NAMED, SLOW], START)


def at(minutes: int) -> int:
    return START + minutes * STEP_MS


def taken(*minutes: int, name: str = "named", until: int) -> History:
    made = history()
    made.add(name, PLACE, [at(minute) for minute in minutes], [float(minute) for minute in minutes])
    made.advance(at(until))
    return made


def test_what_still_holds_has_no_end_and_its_newest_value() -> None:
    (one,) = taken(3, 4, 5, until=5).occurrences(at(5))
    assert (one.begin_ms, one.end_ms, one.value) == (at(3), None, 5.0)
    assert one.labels == {"instance": "n1", "gpu": "0"}


def test_what_held_before_has_an_end_and_is_two_after_a_pause() -> None:
    found = list(taken(3, 4, 9, 10, until=60).occurrences(at(60)))
    assert [(one.begin_ms, one.end_ms) for one in found] == [(at(3), at(4)), (at(9), at(10))]


def test_one_moment_that_is_missing_ends_nothing() -> None:
    (one,) = taken(3, 5, 6, until=6).occurrences(at(6))
    assert one.begin_ms == at(3)


def test_past_is_told_as_it_was_to_be_seen_then() -> None:
    made = taken(3, 4, 5, 6, until=60)
    assert not list(made.occurrences(at(2)))
    (then,) = made.occurrences(at(5))
    assert then.end_ms is None


def test_begin_and_end_allow_for_the_time_that_a_question_looks_back() -> None:
    (one,) = taken(20, 21, 22, 23, name="slow", until=60).occurrences(at(60))
    assert (one.begin_ms, one.end_ms) == (at(10), at(21))


def test_what_held_at_the_last_look_still_holds_until_the_next() -> None:
    (one,) = taken(3, 4, 5, until=5).occurrences(at(15))
    assert one.end_ms is None


def test_what_is_long_over_is_forgotten() -> None:
    made = taken(1, until=1)
    assert not list(made.occurrences(at(1) + KEEP_MS + STEP_MS))
    made.advance(at(1) + 3 * KEEP_MS)
    assert not made.covers(at(1))
    assert made.covers(at(1) + 2 * KEEP_MS)


@given(st.sets(st.integers(0, 300), min_size=1), st.integers(1, 299))
def test_pieces_give_what_all_at_once_gives(minutes: set[int], cut: int) -> None:
    moments = sorted(minutes)
    whole, pieces = history(), history()
    whole.add("named", PLACE, map(at, moments), [1.0] * len(moments))
    for part in ([each for each in moments if each < cut], [each for each in moments if each >= cut]):
        pieces.add("named", PLACE, map(at, part), [1.0] * len(part))
    for made in (whole, pieces):
        made.advance(at(300))
    assert list(whole.occurrences(at(300))) == list(pieces.occurrences(at(300)))
    ends = [one.end_ms for one in whole.occurrences(at(300))]
    assert all(end is None or end <= at(300) - GAP_MS for end in ends)
