"""A metric is declared once, in its source's table; everything else is derived from that row."""

from __future__ import annotations

from typing import NamedTuple, Optional

# Only units that a conventional name spells as its last word (before `_total`) are told apart.
UNITS = (
    "bytes",
    "seconds",
    "celsius",
    "volts",
    "amps",
    "amperes",
    "watts",
    "watt",
    "joules",
    "hertz",
    "ratio",
    "rpm",
    "bits",
)


class Metric(NamedTuple):
    """One row of a source's table; a `*` in the name stands for a word that the machine supplies."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Return the base unit that the name spells, or nothing."""
        word = self.name[:-6] if self.name.endswith("_total") else self.name
        unit = word.rpartition("_")[2]
        return unit if unit in UNITS else ""

    @property
    def family(self) -> str:
        """Return the name over the header: for the parts of a histogram or summary, that of the whole."""
        if self.kind == "histogram" or (self.kind == "summary" and "quantile" not in self.labels):
            for part in ("_bucket", "_count", "_sum"):
                if self.name.endswith(part):
                    return self.name[: -len(part)]
        return self.name

    def expand(self, word: str) -> Metric:
        """Return the member of this family whose `*` is the given word."""
        return self._replace(name=self.name.replace("*", word), help=self.help.replace("*", word))

    def matches(self, name: str) -> bool:
        """Tell whether a series of this name falls under this row."""
        if "*" not in self.name:
            return name == self.name
        head, _, tail = self.name.partition("*")
        longer = len(name) > len(head) + len(tail)
        return longer and name.startswith(head) and name.endswith(tail)


# One reading: what, of which (label values in the metric's order), how much. None means "no sample".
Sample = tuple[Metric, tuple[str, ...], Optional[float]]


def gauge(name: str, help: str, *labels: str) -> Metric:
    """Declare a value that goes up and down."""
    return Metric(name, "gauge", help, labels)


def counter(name: str, help: str, *labels: str) -> Metric:
    """Declare a value that only grows until its owner restarts."""
    return Metric(name, "counter", help, labels)


def untyped(name: str, help: str, *labels: str) -> Metric:
    """Declare a value whose kind the convention leaves open."""
    return Metric(name, "untyped", help, labels)


def info(name: str, help: str, *labels: str) -> Metric:
    """Declare a constant 1 whose labels carry the facts."""
    return Metric(name, "info", help, labels)
