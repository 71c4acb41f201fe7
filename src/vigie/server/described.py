"""What is known of metrics: kind, help and unit, as those tell who bring them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from vigie.model import Metric
from vigie.server.scrape.families import MOST_HELP, MOST_WORD, UNKNOWN, Family

MOST = 20_000  # families


class Described:
    """Keeps what is said of metrics; the last word counts, and too many are not kept."""

    def __init__(self) -> None:
        self.families: Mapping[str, Family] = {}  # replaced, never changed: others read it meanwhile

    def take(self, found: Mapping[str, Family]) -> None:
        """Keep what somebody says; whoever says nothing of a metric's kind takes none away."""
        if not found.items() <= self.families.items():
            self.families = dict(itertools.islice(joined(self.families, found).items(), MOST))


def joined(*told: Mapping[str, Family]) -> dict[str, Family]:
    """Return what is known from several; of each metric the last counts that says something."""
    known: dict[str, Family] = {}
    for name, now in itertools.chain.from_iterable(each.items() for each in told):
        before = known.get(name, Family())
        kind = before.kind if now.kind == UNKNOWN else now.kind
        known[name] = Family(kind, now.help or before.help, now.unit or before.unit)
    return known


def families_of(metrics: Iterable[Metric]) -> dict[str, Family]:
    """Return the families of declared metrics; the parts of a histogram are one."""
    return {metric.family: family_of(metric) for metric in metrics}


def family_of(metric: Metric) -> Family:
    """Return what a declared metric says of itself."""
    kind = UNKNOWN if metric.kind == "untyped" else metric.kind[:MOST_WORD]
    return Family(kind, metric.help[:MOST_HELP], metric.unit)
