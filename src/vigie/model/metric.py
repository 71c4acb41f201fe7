"""A metric is declared once, in its source. Documentation and exposition are derived from it."""

from __future__ import annotations

from typing import NamedTuple, Optional

# Only units that a conventional name has as its last word, before `_total`.
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
    """One declared metric. A `*` in the name is replaced by a word from the machine."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """Return the base unit in the name, or an empty string."""
        word = self.name[:-6] if self.name.endswith("_total") else self.name
        unit = word.rpartition("_")[2]
        return unit if unit in UNITS else ""

    @property
    def family(self) -> str:
        """Return the name for HELP and TYPE: for parts of a histogram or summary, the common name."""
        if self.kind == "histogram" or (self.kind == "summary" and "quantile" not in self.labels):
            for part in ("_bucket", "_count", "_sum"):
                if self.name.endswith(part):
                    return self.name[: -len(part)]
        return self.name

    def expand(self, word: str) -> Metric:
        """Return the metric with `*` replaced by the word."""
        return self._replace(name=self.name.replace("*", word), help=self.help.replace("*", word))

    def matches(self, name: str) -> bool:
        """Return whether a series with this name belongs to this metric."""
        if "*" not in self.name:
            return name == self.name
        head, _, tail = self.name.partition("*")
        longer = len(name) > len(head) + len(tail)
        return longer and name.startswith(head) and name.endswith(tail)


# Metric, label values in the metric's order, value. None means "no sample".
Sample = tuple[Metric, tuple[str, ...], Optional[float]]


def gauge(name: str, help: str, *labels: str) -> Metric:
    """Declare a value that can go up and down."""
    return Metric(name, "gauge", help, labels)


def counter(name: str, help: str, *labels: str) -> Metric:
    """Declare a value that only increases until a restart."""
    return Metric(name, "counter", help, labels)


def untyped(name: str, help: str, *labels: str) -> Metric:
    """Declare a value of unknown type."""
    return Metric(name, "untyped", help, labels)


def info(name: str, help: str, *labels: str) -> Metric:
    """Declare a constant 1 whose labels carry information."""
    return Metric(name, "info", help, labels)
