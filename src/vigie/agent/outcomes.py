"""Which sources give nothing, and why, as series: so the server can say it without asking the node."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.agent.reading import Outcome, Reading
from vigie.model import Table, info
from vigie.sources._tree import printable

METRICS = (
    SOURCE := info(
        "vigie_agent_source_info",
        "1 while a source gives nothing: unavailable, error or hung, and why.",
        "source",
        "state",
        "reason",
    ),
)
REASON = 200  # letters


class Outcomes:
    """Makes the table."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._readings = readings
        self._said: dict[str, tuple[str, str]] = {}
        self._table = Table("outcomes", 0, ())

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return the sources that gave nothing at their last read."""
        said = {}
        for reading in self._readings:
            outcome, name = reading.outcome, reading.source.name
            if outcome not in (Outcome.OK, Outcome.PENDING):
                before = self._said.get(name)
                # The first reason stands as long as the state does: one that counts makes endless series.
                reason = before[1] if before and before[0] == outcome.value else reading.reason[:REASON]
                said[name] = outcome.value, reason
        if said != self._said:
            self._said = said
            series = tuple((SOURCE, (name, state, printable(why))) for name, (state, why) in said.items())
            self._table = Table("outcomes", self._table.version + 1, series)
        return self._table, (1.0,) * len(said)
