from __future__ import annotations

import pytest

from vigie.query.errors import TooManySamplesError
from vigie.query.limits import QueryBudget, QueryLimits


def budget(samples: int) -> QueryBudget:
    return QueryBudget(QueryLimits(samples=samples), lambda: 0.0)


def test_the_total_counts_what_passed_by_and_the_peak_what_was_held_at_once() -> None:
    one = budget(100)
    one.spend(10)
    for _ in range(5):
        with one.hold(30):
            pass
    with one.hold(20):
        one.spend(5)
    assert (one.total, one.peak) == (10 + 5 * 30 + 20 + 5, 40)


def test_what_was_let_go_is_free_again() -> None:
    one = budget(100)
    for _ in range(5):
        with one.hold(100):
            pass
    with one.hold(60), pytest.raises(TooManySamplesError), one.hold(41):
        pass
    one.spend(100)
