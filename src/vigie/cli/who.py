"""Who holds which GPU or node now."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from vigie.cli import _given, _lists, _server, _settings
from vigie.views.text.layout import Column
from vigie.views.text.times import since

EXAMPLE = """examples:
  vigie who                                       everything that is held
  vigie who --node n17                            on one node
  vigie who --user ada --json"""
ERRORS = (*_settings.ERRORS, _server.Unanswered, ValueError)
COLUMNS = (
    Column("node", least=8, rank=1),
    Column("what"),
    Column("user", least=6, rank=2),
    Column("holder", least=10, rank=1),
    Column("name", least=8, rank=3),
    Column("for"),
)
MOST = 1_000_000  # that a server keeps
FILTERS = {
    "node": "on this node",
    "gpu": "this GPU, by its index",
    "user": "by this user",
    "job": "by this job",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    for name, what in FILTERS.items():
        parser.add_argument(f"--{name}", default="", help=f"only what is held {what}")
    parser.add_argument(
        "--limit", type=_given.whole(MOST), default=10_000, help="how many at most (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each")
    _server.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print who holds what."""
    filters = {name: getattr(arguments, name) for name in FILTERS}
    held = _lists.rows(arguments, "bindings", {**filters, "state": "held"}, arguments.limit, _is_held)
    found = sorted(held, key=_place)
    if arguments.json:
        _lists.show(found)
    elif found:
        _lists.show_table(COLUMNS, [*map(_row, found)])
    else:
        print("nobody holds anything that vigie knows of; vigie nodes tells which nodes are there")
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
