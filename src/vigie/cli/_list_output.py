"""Lists that a server returns page by page, as tables or as JSON Lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar
from urllib.parse import urlencode

from msgspec import Struct, to_builtins

from vigie.cli import _argument_types, _server_client
from vigie.views.text import output
from vigie.views.text.table import table
from vigie.views.text.table_layout import TableColumn

PAGE_ROWS = 1000
MAX_ROWS = 1_000_000  # that a server keeps


class Page(Protocol):
    """A part of a list; `next` is empty on the last page."""

    @property
    def next(self) -> str: ...


PageT = TypeVar("PageT", bound=Page)
Row = TypeVar("Row", bound=Struct)


def add_arguments(parser: argparse.ArgumentParser, limit: int, most: int = MAX_ROWS) -> None:
    """Declare the flags of every list: how many rows, in which form, from which server."""
    parser.add_argument(
        "--limit", type=_argument_types.whole(most), default=limit, help="maximum rows (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON Lines")
    _server_client.add_arguments(parser)


def request_rows(
    arguments: argparse.Namespace,
    path: str,
    page: type[PageT],
    rows: Callable[[PageT], Sequence[Row]],
    filters: Mapping[str, str],
    most: int,
) -> list[Row]:
    """Return up to so many rows of a list."""
    found: list[Row] = []
    query = {**{name: word for name, word in filters.items() if word}, "limit": str(min(PAGE_ROWS, most))}
    while len(found) < most:
        body = _server_client.request(arguments, "GET", f"{path}?{urlencode(query)}")
        answer = _server_client.decode(body, page)
        found += rows(answer)
        if not answer.next:
            break
        query["before"] = answer.next
    return found[:most]


def print_rows(
    arguments: argparse.Namespace,
    found: Sequence[Row],
    columns: Sequence[TableColumn],
    format_row: Callable[[Row], Sequence[str]],
    empty: str,
) -> None:
    """Print JSON Lines with --json, else a table, or a sentence if there are no rows."""
    if arguments.json:
        print_json_lines(found)
    elif found:
        show_table(columns, [*map(format_row, found)])
    else:
        print(empty)


def print_json_lines(found: Sequence[Struct]) -> None:
    output.show(json.dumps(to_builtins(row)) for row in found)


def show_table(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the terminal."""
    most, colour = output.columns(sys.stdout), output.colourful(sys.stdout)
    output.show(table(columns, rows, most, colour))
