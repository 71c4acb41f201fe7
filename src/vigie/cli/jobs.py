"""List jobs, users and GPUs; the newest first."""

from __future__ import annotations

import argparse

from vigie.cli import _list_output, _server_client
from vigie.cli.settings import flags
from vigie.views.text.table_layout import TableColumn
from vigie.views.text.times import format_duration, since
from vigie.wire.api.resources import JobFacts, JobList

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
SHOWN = 3  # nodes that are named
FILTERS = {"node": "on this node", "user": "of this user", "job": "with this id"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, what in FILTERS.items():
        parser.add_argument(f"--{name}", default="", help=f"only jobs {what}")
    parser.add_argument(
        "--state", default="now", choices=STATES, help="job state (default: now, all but ended)"
    )
    _list_output.add_arguments(parser, limit=100)


def run(arguments: argparse.Namespace) -> int:
    filters = {name: getattr(arguments, name) for name in FILTERS}
    states = {"now": NOW, "all": ("",)}.get(arguments.state, (arguments.state,))
    found: list[JobFacts] = []
    for state in states:
        wanted, most = {**filters, "state": state}, arguments.limit - len(found)
        found += _list_output.request_rows(
            arguments, "api/jobs", JobList, lambda page: page.jobs, wanted, most
        )
    _list_output.print_rows(
        arguments, found, COLUMNS, _row, "No matching jobs. For ended ones: vigie jobs --state all"
    )
    return 0


def _row(job: JobFacts) -> list[str]:
    more = len(job.nodes) - SHOWN
    nodes = ",".join(job.nodes[:SHOWN]) + (f" +{more}" if more > 0 else "")
    lasted = since(job.start_ms) if job.end_ms is None else format_duration(job.end_ms - job.start_ms)
    gpus = job.facts.get("gpus", "-") if job.state == "waiting" else str(len(job.gpus))
    words = [job.id, job.state, job.user or "-", job.name or "-", gpus]
    return [*words, nodes or "-", lasted, job.facts.get("reason", "") or "-"]
