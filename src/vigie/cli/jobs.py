"""List jobs, users and GPUs; the newest first."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from vigie.cli import _argument_types, _list_output, _server_client
from vigie.cli.settings import flags
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import format_duration, since

EXAMPLE = """examples:
  vigie jobs                                      those that run or wait
  vigie jobs --state finished --user ada
  vigie jobs --state all --node n17 --json"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, ValueError)
COLUMNS = (
    TableColumn("job"),
    TableColumn("state"),
    TableColumn("user", least=6, rank=1),
    TableColumn("name", least=8, rank=2),
    TableColumn("gpus"),
    TableColumn("nodes", least=8, rank=4),
    TableColumn("for"),
    TableColumn("reason", least=8, rank=3),
)
NOW = ("running", "waiting", "unknown")
STATES = ("now", "all", "running", "waiting", "finished", "unknown")
MAX_ROWS = 1_000_000  # that a server keeps
SHOWN = 3  # nodes that are named
FILTERS = {"node": "on this node", "user": "of this user", "job": "with this id"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    for name, what in FILTERS.items():
        parser.add_argument(f"--{name}", default="", help=f"only jobs {what}")
    parser.add_argument(
        "--state", default="now", choices=STATES, help="job state (default: now, all but ended)"
    )
    parser.add_argument(
        "--limit",
        type=_argument_types.whole(MAX_ROWS),
        default=100,
        help="maximum rows (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON Lines")
    _server_client.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    filters = {name: getattr(arguments, name) for name in FILTERS}
    states = {"now": NOW, "all": ("",)}.get(arguments.state, (arguments.state,))
    found: list[dict[str, Any]] = []
    for state in states:
        found += _list_output.rows(
            arguments, "jobs", {**filters, "state": state}, arguments.limit - len(found)
        )
    if arguments.json:
        _list_output.show(found)
    elif found:
        _list_output.show_table(COLUMNS, [*map(_row, found)])
    else:
        print("No matching jobs. For ended ones: vigie jobs --state all")
    return 0


def _row(job: Mapping[str, Any]) -> list[str]:
    nodes = ",".join(job["nodes"][:SHOWN]) + (f" +{more}" if (more := len(job["nodes"]) - SHOWN) > 0 else "")
    end = job["end_ms"]
    lasted = since(job["start_ms"]) if end is None else format_duration(end - job["start_ms"])
    # A job that ended before its GPUs were seen has only their number.
    seen = "" if job["state"] == "waiting" else str(len(job["gpus"]) or "")
    gpus = seen or job["facts"].get("gpus", "-" if job["state"] == "waiting" else "0")
    words = [job["id"], job["state"], job["user"] or "-", job["name"] or "-", gpus]
    return [*words, nodes or "-", lasted, job["facts"].get("reason", "") or "-"]
