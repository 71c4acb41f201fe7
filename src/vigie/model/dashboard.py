"""Dashboards as data: sections of panels, each with PromQL queries and a reason to look."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

PanelKind = Literal["lines", "band", "number", "table", "bars", "heat"]
KINDS: tuple[PanelKind, ...] = get_args(PanelKind)
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
    """PromQL with `$variables` and `$__rate_interval`. The legend names series: `{{gpu}}`.

    Its unit overrides the panel's, as columns of a table may differ. With a state, results are drawn in
    the color of that state.
    """

    promql: str
    legend: str = ""
    unit: str = ""
    state: Literal["", "warning", "critical"] = ""


class Threshold(NamedTuple):
    """The state of a value that is at least this one, or at most with `below`."""

    value: float
    state: Literal["warning", "critical"]
    below: bool = False


class Panel(NamedTuple):
    """One or more queries, a unit, and one sentence on what to look for.

    `needs` names the source that provides the data. A band shows the median, minimum and maximum of all
    series, and names the outliers. A table has one row per series, with the last value; with several
    queries each is a column, titled by its legend. Heat has one row per series and shades its values. Without
    a floor or ceiling the axis follows the values.
    """

    title: str
    why: str
    queries: tuple[PanelQuery, ...]
    unit: str = ""
    kind: PanelKind = "lines"
    thresholds: tuple[Threshold, ...] = ()
    floor: float | None = 0
    ceiling: float | None = None
    wide: bool = False
    needs: str = ""
    stack: bool = False


class Variable(NamedTuple):
    """A choice of the reader: values of the label `by` of the series `metric` selects, or a fixed list.

    `metric` is a selector and may use earlier variables. Without a default, all values are selected if
    `multi` is set, else the first. PromQL gets a regular expression, so values are escaped. Set
    `optional` for a label that some series lack.
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
        """Return the regular expression that matches all values."""
        return ".*" if self.optional else ".+"


class Section(NamedTuple):
    title: str
    panels: tuple[Panel, ...]


class Dashboard(NamedTuple):
    """Sections with a title. One that is not listed belongs to a page of the web UI."""

    slug: str
    title: str
    description: str
    sections: tuple[Section, ...]
    variables: tuple[Variable, ...] = ()
    listed: bool = True
