"""Every question of every dashboard, ready to be asked: variables are put in as a reader chooses them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vigie.dashboards import all_dashboards
from vigie.model.dashboard import Dashboard, Panel, PanelQuery, Variable

RATE_INTERVAL = "2m"
_NAME = re.compile(r"\$(\w+)")


class Question(NamedTuple):
    """A query of a panel, and the text that is asked."""

    board: Dashboard
    panel: Panel
    query: PanelQuery
    text: str

    @property
    def id(self) -> str:
        """Return where it stands."""
        return f"{self.board.slug}/{self.panel.title}/{self.panel.queries.index(self.query)}"


def panels(board: Dashboard) -> Iterator[Panel]:
    """Yield the panels of a dashboard."""
    for section in board.sections:
        yield from section.panels


def everything(variable: Variable) -> str:
    """Return what stands in PromQL when nothing is chosen: all, or the fixed default."""
    return variable.default if variable.choices else variable.match_all


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return PromQL with variables put in; one that has no value is an error."""
    return _NAME.sub(lambda found: values[found[1]], text)


def questions(board: Dashboard, **chosen: str) -> Iterator[Question]:
    """Yield what a dashboard asks, with all values of variables that are not chosen."""
    values = {variable.name: everything(variable) for variable in board.variables}
    values |= {"__rate_interval": RATE_INTERVAL} | chosen
    for panel in panels(board):
        for query in panel.queries:
            yield Question(board, panel, query, fill(query.promql, values))


def all_questions() -> Iterator[Question]:
    """Yield what all dashboards ask."""
    for board in all_dashboards():
        yield from questions(board)


def names_in(text: str) -> set[str]:
    """Return the variables of a text."""
    return set(_NAME.findall(text)) - {"__rate_interval"}
