"""Lists that a server returns page by page, as tables or as JSON Lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from vigie.cli import _server_client
from vigie.views.text import output
from vigie.views.text.table import table
from vigie.views.text.table_layout import TableColumn

A_PAGE = 1000


def rows(
    arguments: argparse.Namespace,
    what: str,
    filters: Mapping[str, str],
    most: int,
    wanted: Callable[[Mapping[str, Any]], bool] = lambda _: True,
) -> list[dict[str, Any]]:
    """Return up to so many rows of /api/WHAT that match."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while len(found) < most:
        limit = min(A_PAGE, most)
        asked = {**{name: word for name, word in filters.items() if word}, "limit": limit}
        query = urlencode({**asked, **({"before": cursor} if cursor else {})})
        body = _server_client.request(arguments, "GET", f"api/{what}?{query}")
        try:
            answer = json.loads(body)
            found += filter(wanted, answer[what])
        except (ValueError, KeyError, TypeError):
            raise _server_client.ServerRequestError("the answer is not that of a vigie server") from None
        cursor = answer.get("next", "")
        if not cursor:
            break
    return found[:most]


def show(found: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as JSON Lines."""
    output.show(map(json.dumps, found))


def show_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the terminal."""
    most, colour = output.columns(sys.stdout), output.colourful(sys.stdout)
    output.show(table(columns, rows, most, colour))
