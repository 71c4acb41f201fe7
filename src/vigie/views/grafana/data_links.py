"""From a series to the dashboard about what it is of: a node, a GPU, a job, a user."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from vigie.model.dashboard import PanelQuery

Json = dict[str, Any]
_LABEL = re.compile(r"\{\{(\w+)\}\}")


class LinkTarget(NamedTuple):
    """A dashboard that tells more, and which of its variables have the values of which labels."""

    title: str
    slug: str
    chosen: dict[str, str]


WAYS = (
    LinkTarget("This GPU", "page-gpu", {"node": "instance", "gpu": "gpu"}),
    LinkTarget("This node", "node", {"node": "instance"}),
    LinkTarget("This job", "page-job", {"job": "holder"}),
    LinkTarget("This user", "page-user", {"user": "user"}),
)


def of_series(queries: Iterable[PanelQuery]) -> list[Json]:
    """Return the ways from series that carry the labels, by what their legends name."""
    named = [set(_LABEL.findall(query.legend)) for query in queries]
    there = set[str].intersection(*named) if named else set[str]()
    return [_link(way, "__field.labels") for way in WAYS if there >= set(way.chosen.values())]


def of_columns() -> list[Json]:
    """Return the ways from the columns of a table, each at the column of its last label."""
    return [
        {
            "matcher": {"id": "byName", "options": list(way.chosen.values())[-1]},
            "properties": [{"id": "links", "value": [_link(way, "__data.fields")]}],
        }
        for way in WAYS
    ]


def _link(way: LinkTarget, values: str) -> Json:
    chosen = "".join(f"&var-{name}=${{{values}.{label}}}" for name, label in way.chosen.items())
    return {"title": way.title, "url": f"/d/vigie-{way.slug}?${{__url_time_range}}{chosen}"}
