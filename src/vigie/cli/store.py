"""Look after a data directory: verify every checksum, or copy it while a server runs on it."""

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
    checking = actions.add_parser("check", help="verify every checksum; nothing is written")
    checking.add_argument("data", type=Path, metavar="DATA", help="the data directory")
    copying = actions.add_parser("backup", help="copy all that a server keeps, also while it runs")
    copying.add_argument("directory", type=Path, metavar="DIR", help="where to; it must not exist yet")
    copying.add_argument("--data", type=Path, default=default_data(), help="the data directory")
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
        print("\n".join(faults) or f"{arguments.data}: every checksum is right")
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
        print(f"{where}: {size / 1e6:.1f} MB; to use it: vigie server --data {where}")
    return 0


def _store_in(data: Path) -> Path:
    """Return where the store is in a server's data directory; a store by itself is one, too."""
    for place in (data / STORE_DIRECTORY, data):
        if (place / "format").is_file():
            return place
    raise StoreError(f"{data} is not a data directory of vigie; give the one of vigie server --data")


def _say(text: str, end: str = "\n") -> None:
    if sys.stderr.isatty():
        print(text, end=end, file=sys.stderr, flush=True)
