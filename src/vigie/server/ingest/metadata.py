"""What is known of metrics: kind, help and unit, as those tell who bring them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vigie.model import Metric
from vigie.wire.exposition.line_parser import unescape

MAX_HELP, MAX_WORD = 1024, 40  # characters
UNKNOWN = "unknown"
_COMMENT = re.compile(r'# (HELP|TYPE|UNIT) (?:([a-zA-Z_:][a-zA-Z0-9_:]*)|"((?:[^"\\]|\\.)*)") ?(.*)')
MAX_FAMILIES = 20_000  # families


class MetricMetadata(NamedTuple):
    kind: str = UNKNOWN
    help: str = ""
    unit: str = ""


def families(content: str) -> dict[str, MetricMetadata]:
    """Return the families that the comments of an exposition describe; other comments are no error."""
    found: dict[str, MetricMetadata] = {}
    for keyword, name, text in _comments(content):
        family = found.get(name, MetricMetadata())
        if keyword == "TYPE":
            kind = text.strip().lower()
            family = family._replace(kind=UNKNOWN if kind == "untyped" else kind[:MAX_WORD])
        elif keyword == "HELP":
            family = family._replace(help=unescape(text)[:MAX_HELP])
        else:
            family = family._replace(unit=text.strip()[:MAX_WORD])
        found[name] = family
    return found


def _comments(content: str) -> Iterator[tuple[str, str, str]]:
    for line in content.split("\n"):
        match = _COMMENT.match(line) if line[:1] == "#" else None
        if match:
            keyword, plain, quoted, text = match.groups()
            yield keyword, unescape(quoted) if plain is None else plain, text


class MetadataCache:
    """Keeps what is said of metrics; the last word counts, and too many are not kept."""

    def __init__(self) -> None:
        self.families: Mapping[str, MetricMetadata] = {}  # replaced, never changed: others read it meanwhile

    def take(self, found: Mapping[str, MetricMetadata]) -> None:
        """Keep what somebody says; whoever says nothing of a metric's kind takes none away."""
        if not found.items() <= self.families.items():
            self.families = dict(itertools.islice(merge_metadata(self.families, found).items(), MAX_FAMILIES))


def merge_metadata(*told: Mapping[str, MetricMetadata]) -> dict[str, MetricMetadata]:
    """Return what is known from several; of each metric the last counts that says something."""
    known: dict[str, MetricMetadata] = {}
    for name, now in itertools.chain.from_iterable(each.items() for each in told):
        before = known.get(name, MetricMetadata())
        kind = before.kind if now.kind == UNKNOWN else now.kind
        known[name] = MetricMetadata(kind, now.help or before.help, now.unit or before.unit)
    return known


def families_of(metrics: Iterable[Metric]) -> dict[str, MetricMetadata]:
    """Return the families of declared metrics; the parts of a histogram are one."""
    return {metric.family: family_of(metric) for metric in metrics}


def family_of(metric: Metric) -> MetricMetadata:
    """Return what a declared metric says of itself."""
    kind = UNKNOWN if metric.kind == "untyped" else metric.kind[:MAX_WORD]
    return MetricMetadata(kind, metric.help[:MAX_HELP], metric.unit)
