"""Show GPU and node allocations."""

from __future__ import annotations

import argparse

from vigie.cli import _list_output, _server_client
from vigie.cli.settings import flags
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import since
from vigie.wire.api.resources import BindingList, BindingRow

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
FILTERS = {
    "node": "on this node",
    "gpu": "of this GPU index",
    "user": "of this user",
    "job": "of this job",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, what in FILTERS.items():
        parser.add_argument(f"--{name}", default="", help=f"only allocations {what}")
    _list_output.add_arguments(parser, limit=10_000)


def run(arguments: argparse.Namespace) -> int:
    filters = {name: getattr(arguments, name) for name in FILTERS} | {"state": "held"}
    held = _list_output.request_rows(
        arguments, "api/bindings", BindingList, _held_rows, filters, arguments.limit
    )
    empty = "No allocations reported."
    _list_output.print_rows(arguments, sorted(held, key=_place), COLUMNS, _row, empty)
    return 0


def _held_rows(page: BindingList) -> list[BindingRow]:
    return [row for row in page.bindings if row.resource != "queue"]


def _place(row: BindingRow) -> tuple[str, int, str]:
    return row.node, int(row.gpu) if row.gpu.isdecimal() else -1, row.resource


def _row(row: BindingRow) -> list[str]:
    what = f"gpu {row.gpu}" if row.gpu else row.resource
    holder, name = f"{row.kind} {row.holder}", row.facts.get("name", "")
    return [row.node, what, row.user or "-", holder, name or "-", since(row.from_ms)]
