"""Verify or back up a data directory, also while a server runs on it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from vigie.cli.settings.flags import default_data
from vigie.server.backup import backup
from vigie.server.cluster.database import FILE as CLUSTER_FILE
from vigie.server.cluster.database import check_database
from vigie.store import backup as store
from vigie.store.check import check
from vigie.store.errors import StoreError
from vigie.store.filesystem import STORE_DIRECTORY

EXAMPLE = (
    "examples:\n  vigie store check /var/lib/vigie\n"
    "  vigie store backup /backup/vigie-monday --data /var/lib/vigie"
)
ERRORS = (StoreError, OSError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|backup")
    checking = actions.add_parser("check", help="verify every checksum, read-only")
    checking.add_argument("data", type=Path, metavar="DATA", help="data directory")
    copying = actions.add_parser("backup", help="copy a data directory, also while its server runs")
    copying.add_argument("directory", type=Path, metavar="DIR", help="target directory, must not exist")
    copying.add_argument("--data", type=Path, default=default_data(), help="data directory")
    for action in (checking, copying):
        action.epilog, action.formatter_class = EXAMPLE, parser.formatter_class
        action.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Check or copy; 1 when something is damaged."""
    return _check(arguments) if arguments.action == "check" else _backup(arguments)


def _check(arguments: argparse.Namespace) -> int:
    _say(f"reading {arguments.data} ...")
    store_directory = _store_in(arguments.data)
    faults = list(check(store_directory))
    if store_directory != arguments.data:
        faults += check_database(arguments.data / CLUSTER_FILE)
    if arguments.json:
        print(json.dumps({"data": str(arguments.data), "damaged": faults}, indent=2))
    else:
        print("\n".join(faults) or f"{arguments.data}: no corruption found")
    return 1 if faults else 0


def _backup(arguments: argparse.Namespace) -> int:
    def progress(what: str, done: int, total: int) -> None:
        _say(f"\r{what}: {done} of {total}\x1b[K", end="")

    if _store_in(arguments.data) == arguments.data:
        size = store.backup(arguments.data, arguments.directory / STORE_DIRECTORY, progress)
    else:
        size = backup(arguments.data, arguments.directory, progress)
    _say("")
    if arguments.json:
        print(json.dumps({"data": str(arguments.data), "backup": str(arguments.directory), "bytes": size}))
    else:
        where = arguments.directory
        print(f"{where}: {size / 1e6:.1f} MB. To use it: vigie server --data {where}")
    return 0


def _store_in(data: Path) -> Path:
    """Return the store of a data directory, or the directory if it is a store itself."""
    for place in (data / STORE_DIRECTORY, data):
        if (place / "format").is_file():
            return place
    raise StoreError(f"{data}: not a data directory of vigie")


def _say(text: str, end: str = "\n") -> None:
    if sys.stderr.isatty():
        print(text, end=end, file=sys.stderr, flush=True)
