"""The ports of other exporters: each gives its own names, and `collect[]` chooses among the sources."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import parse_qs

from vigie.agent.source_reader import SourceReader
from vigie.model import Table
from vigie.model.table import TableValues
from vigie.wire.exposition.renderer import Format, Renderer

MAX_VIEWS = 8  # sets of collectors of which the rendered names are kept
MAX_COLLECTORS = 100  # in one request


class ExporterPort(NamedTuple):
    """An exporter that we stand in for: where it listens, and how its names begin."""

    name: str
    port: int
    prefixes: tuple[str, ...]


EXPORTER_PORTS = (
    ExporterPort("node exporter", 9100, ("node_",)),
    ExporterPort("dcgm-exporter", 9400, ("DCGM_",)),
    ExporterPort("Slurm exporter and cAdvisor", 8080, ("slurm_", "container_", "machine_")),
)


class UnknownCollectorError(Exception):
    """A request names a collector that there is not."""


def parse_collectors(query: str, readers: Sequence[SourceReader]) -> frozenset[str] | None:
    """Return the sources that a request asks for by `collect[]` or `exclude[]`; None for all."""
    given = parse_qs(query, max_num_fields=MAX_COLLECTORS)
    collect, exclude = set(given.get("collect[]", ())), set(given.get("exclude[]", ()))
    if not collect and not exclude:
        return None
    known = {reader.source.name for reader in readers}
    unknown = sorted((collect | exclude) - known)
    if unknown:
        raise UnknownCollectorError(f"Unknown collector {unknown[0]!r}: not available or off by default")
    return frozenset((collect or known) - exclude)


class SeriesFilter:
    """Picks the series of some tables whose names begin as wanted; what to pick is known by table."""

    def __init__(self, prefixes: tuple[str, ...]) -> None:
        self._prefixes = prefixes
        self._known: dict[str, tuple[Table, Table, list[int]]] = {}

    def apply(self, parts: Sequence[TableValues]) -> list[TableValues]:
        """Return the parts with only the wanted series."""
        return [self._part(part) for part in parts]

    def _part(self, part: TableValues) -> TableValues:
        known = self._known.get(part.table.source)
        if known is None or known[0] is not part.table:
            series = part.table.series
            places = [i for i, (metric, _) in enumerate(series) if metric.name.startswith(self._prefixes)]
            picked = part.table._replace(series=tuple(series[place] for place in places))
            known = self._known[part.table.source] = (part.table, picked, places)
        _, table, places = known
        if len(places) == len(part.numbers):
            return part
        numbers = itemgetter(*places)(part.numbers) if len(places) > 1 else [part.numbers[i] for i in places]
        return TableValues(table, tuple(numbers), part.plain)


class MetricsView:
    """What one port shows; the texts of a set of collectors are kept while it is asked for."""

    def __init__(self, prefixes: tuple[str, ...] | None = None) -> None:
        self._filter = SeriesFilter(prefixes) if prefixes else None
        self._renderers: OrderedDict[frozenset[str] | None, Renderer] = OrderedDict()

    def render(self, parts: list[TableValues], form: Format, collectors: frozenset[str] | None) -> str:
        """Return the exposition of these tables, all of them or those of some collectors."""
        if collectors is not None:
            parts = [part for part in parts if part.table.source in collectors]
        if self._filter:
            parts = self._filter.apply(parts)
        return self._renderer(collectors).render(parts, form)

    def _renderer(self, collectors: frozenset[str] | None) -> Renderer:
        renderer = self._renderers.setdefault(collectors, Renderer())
        self._renderers.move_to_end(collectors)
        if len(self._renderers) > MAX_VIEWS:
            self._renderers.popitem(last=False)
        return renderer
