"""Sources that give nothing travel with their reason, and make no endless series."""

from __future__ import annotations

from collections.abc import Iterator

from tests.agent.sources import reading, steady
from vigie.agent.metrics import REASON, SourceOutcomes
from vigie.model import Sample
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.wire.agent_series import SOURCE_STATE


class Failing:
    """A source that fails as it is told to."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.source = Source("failing", (), self._read)

    def _read(self, _: Host) -> Iterator[Sample]:
        if self.error:
            raise self.error
        yield from ()


def test_only_what_gives_nothing_is_told_with_state_and_reason() -> None:
    failing = Failing(Unavailable("no such card"))
    both = [reading(steady("good")), reading(failing.source)]
    outcomes = SourceOutcomes(both)
    assert outcomes.table()[0].series == ()
    for one in both:
        one.read()
    table, values = outcomes.table()
    assert table.series == ((SOURCE_STATE, ("failing", "unavailable", "no such card")),)
    assert values == (1.0,)
    assert outcomes.table()[0] is table


def test_first_reason_stands_while_the_state_does() -> None:
    failing = Failing(ValueError("line 1"))
    one = reading(failing.source)
    outcomes = SourceOutcomes([one])
    for number in range(3):
        failing.error = ValueError(f"line {number}")
        one.read()
        table, _ = outcomes.table()
    assert table.version == 1
    assert table.series[0][1][2] == "ValueError: line 0"
    failing.error = Unavailable("gone")
    one.read()
    assert outcomes.table()[0].series[0][1][1:] == ("unavailable", "gone")


def test_reason_is_cut_and_can_be_sent() -> None:
    one = reading(Failing(Unavailable("\udcff" + "x" * 1000)).source)
    one.read()
    reason = SourceOutcomes([one]).table()[0].series[0][1][2]
    assert len(reason.encode()) <= REASON + 10
