"""Files with one named number per line, such as /proc/meminfo, whose order rarely changes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from operator import itemgetter
from typing import Callable, NamedTuple, Optional

from vigie.model import Metric, Sample
from vigie.sources.core.host import Host

Choose = Callable[[str, bool], Optional[Metric]]


class Field(NamedTuple):
    """Position and metric of a wanted number."""

    name: str
    place: int
    metric: Metric
    scale: int


class Fields:
    """Finds the wanted numbers by position, which is twice as fast as by name.

    `column` is the position of the name in its line. `choose` returns the metric of a field, given its
    name and whether it is in kB. Names are compared at every read, so an added or removed field only
    costs another search.
    """

    def __init__(self, column: int, choose: Choose) -> None:
        self._column, self._choose = column, choose
        self._length = -1
        self._learn([])

    def samples(self, host: Host, where: str, text: str, labels: tuple[str, ...]) -> Iterable[Sample]:
        words = text.split()
        if len(words) != self._length or self._names_of(words) != self._names:
            # A file with invalid lines is searched every time, so that they are noted.
            self._length = len(words) if self._search(host, where, text) else -1
        numbers = self._numbers_of(words)
        try:
            values: list[int | None] = [int(n) * scale for n, scale in zip(numbers, self._scales)]
        except ValueError:
            rows = zip(self._names, numbers, self._scales)
            values = [_value(host, f"{where} {name}", n, scale) for name, n, scale in rows]
        return zip(self._metrics, repeat(labels), values)

    def _search(self, host: Host, where: str, text: str) -> bool:
        """Learn the positions of the wanted fields; return whether every line is valid."""
        found: list[Field] = []
        sane = True
        start, column = 0, self._column
        for line in text.splitlines():
            words = line.split()
            if column + 2 <= len(words) <= column + 3:
                unit = words[-1] == "kB"
                metric = self._choose(words[column], unit)
                if metric is not None:
                    found.append(Field(words[column], start + column, metric, 1024 if unit else 1))
            elif words:
                sane = False
                host.note(f"{where} {' '.join(words[:3])}", "not a name and a number")
            start += len(words)
        self._learn(found)
        return sane

    def _learn(self, found: list[Field]) -> None:
        self._names = tuple(field.name for field in found)
        self._metrics = [field.metric for field in found]
        self._scales = [field.scale for field in found]
        self._names_of = _taker([field.place for field in found])
        self._numbers_of = _taker([field.place + 1 for field in found])


def _taker(places: list[int]) -> Callable[[list[str]], tuple[str, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda words: tuple(words[place] for place in places)


def _value(host: Host, where: str, text: str, scale: int) -> int | None:
    try:
        return int(text) * scale
    except ValueError as error:
        host.note(where, error)
        return None
