"""What is shown, as data: a dashboard of sections of panels, each a question in PromQL and why to look."""

from __future__ import annotations

from typing import NamedTuple

KINDS = ("lines", "band", "number", "table", "bars", "heat")
STATES = ("warning", "critical")
UNITS = (
    "",
    "ratio",
    "percent",
    "bytes",
    "bytes/s",
    "bits/s",
    "celsius",
    "watts",
    "joules",
    "hertz",
    "seconds",
    "milliseconds",
    "ops/s",
    "count",
    "bool",
    "rpm",
)


class PanelQuery(NamedTuple):
    """PromQL that may hold `$variables` and `$__rate_interval`; the legend names series: `{{gpu}}`.

    Its own unit, where it has one, goes before the panel's: columns of a table differ. With a state, what
    it finds is trouble and is drawn so.
    """

    promql: str
    legend: str = ""
    unit: str = ""
    state: str = ""


class Threshold(NamedTuple):
    """The state that a value has reached when it is at least this one, or with `below` at most."""

    value: float
    state: str
    below: bool = False


class Panel(NamedTuple):
    """One question, its unit, and in one sentence what a reader should look for.

    `needs` names the source without which there is nothing to show. A band is the median of all series
    with their least and greatest, and the odd ones by name. A table has a row for each series of its last
    values; of several queries each is a column, named by its legend, of the row with the same labels.
    Heat has a row for each series, whose shades are its values over time.
    """

    title: str
    why: str
    queries: tuple[PanelQuery, ...]
    unit: str = ""
    kind: str = "lines"
    thresholds: tuple[Threshold, ...] = ()
    floor: float | None = None
    ceiling: float | None = None
    wide: bool = False
    needs: str = ""
    stack: bool = False


class Variable(NamedTuple):
    """What a reader may choose: values of the label `by` of series `metric` selects, or a fixed choice.

    `metric` is a selector that may hold earlier variables. Without a default it is all of them if several
    may be chosen, else the first. In PromQL it is a pattern, so that a chosen value stands there escaped;
    `optional` is for a label that some series lack.
    """

    name: str
    label: str
    metric: str = ""
    by: str = ""
    choices: tuple[str, ...] = ()
    multi: bool = False
    default: str = ""
    optional: bool = False

    @property
    def match_all(self) -> str:
        """Return the pattern that stands for all values."""
        return ".*" if self.optional else ".+"


class Section(NamedTuple):
    """Panels that belong together."""

    title: str
    panels: tuple[Panel, ...]


class Dashboard(NamedTuple):
    """Sections under a title; one that is not listed belongs to a page of its own."""

    slug: str
    title: str
    description: str
    sections: tuple[Section, ...]
    variables: tuple[Variable, ...] = ()
    listed: bool = True
