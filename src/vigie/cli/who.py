"""Show GPU and node allocations."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from vigie.cli import _argument_types, _list_output, _server_client
from vigie.cli.settings import flags
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import since

EXAMPLE = """examples:
  vigie who                                       everything that is held
  vigie who --node n17                            on one node
  vigie who --user ada --json"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, ValueError)
COLUMNS = (
    TableColumn("node", least=8, rank=1),
    TableColumn("what"),
    TableColumn("user", least=6, rank=2),
    TableColumn("holder", least=10, rank=1),
    TableColumn("name", least=8, rank=3),
    TableColumn("for"),
)
MAX_ROWS = 1_000_000  # of a server
FILTERS = {
    "node": "on this node",
    "gpu": "of this GPU index",
    "user": "of this user",
    "job": "of this job",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    for name, what in FILTERS.items():
        parser.add_argument(f"--{name}", default="", help=f"only allocations {what}")
    parser.add_argument(
        "--limit",
        type=_argument_types.whole(MAX_ROWS),
        default=10_000,
        help="maximum rows (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON Lines")
    _server_client.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the allocations."""
    filters = {name: getattr(arguments, name) for name in FILTERS}
    held = _list_output.rows(arguments, "bindings", {**filters, "state": "held"}, arguments.limit, _is_held)
    found = sorted(held, key=_place)
    if arguments.json:
        _list_output.show(found)
    elif found:
        _list_output.show_table(COLUMNS, [*map(_row, found)])
    else:
        print("No allocations reported.")
    return 0


def _is_held(row: Mapping[str, Any]) -> bool:
    return bool(row["resource"] != "queue")


def _place(row: Mapping[str, Any]) -> tuple[str, int, str]:
    index = row["gpu"]
    return row["node"], int(index) if index.isdecimal() else -1, row["resource"]


def _row(row: Mapping[str, Any]) -> list[str]:
    what = f"gpu {row['gpu']}" if row["gpu"] else row["resource"]
    holder = f"{row['kind']} {row['holder']}"
    name = row["facts"].get("name", "")
    return [row["node"], what, row["user"] or "-", holder, name or "-", since(row["from_ms"])]
