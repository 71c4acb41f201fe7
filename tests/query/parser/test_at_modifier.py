"""Times after @ that no parser of ours can hand over as they are."""

from __future__ import annotations

import pytest

from vigie.query.engine import Engine
from vigie.query.errors import BadDataError
from vigie.query.parser.at_modifier import clamp_at_modifiers
from vigie.simulation.memory_storage import MemoryStorage

MINUTE = 60_000


@pytest.fixture
def engine() -> Engine:
    storage = MemoryStorage()
    storage.add({"__name__": "up"}, [30 * MINUTE], [1.0])
    return Engine(storage)


@pytest.mark.parametrize("at", ["-5", "- 5", "-1.5", "-1e3", "1e12", "253402300800", "9e15"])
@pytest.mark.parametrize(
    "query", ["up @ {}", "count_over_time(up[5m] @ {})", "max_over_time(up[5m:1m] @ {})"]
)
def test_a_time_before_1970_or_after_9999_finds_nothing(query: str, at: str, engine: Engine) -> None:
    assert engine.instant(query.format(at), 30 * MINUTE).series == []


@pytest.mark.parametrize("at", ["1e30", "-1e30", "9.3e15", "Inf", "-Inf", "NaN"])
def test_a_time_that_prometheus_refuses_is_refused(at: str, engine: Engine) -> None:
    with pytest.raises(BadDataError, match="out of bounds"):
        engine.instant(f"up @ {at}", 30 * MINUTE)


@pytest.mark.parametrize(
    "query", ["up @ 1800", "up @ +1800", "up @ end() - 5", 'up{a="@ -5"}', "up @ 1.5e3-up"]
)
def test_other_times_and_texts_are_left_alone(query: str) -> None:
    assert clamp_at_modifiers(query) == query
