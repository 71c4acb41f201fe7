"""Show the cluster in the terminal: findings, GPU allocations and jobs."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import sys

import msgspec

from vigie.cli import _argument_types, _server_client
from vigie.cli.settings import flags
from vigie.views.terminal import app
from vigie.views.terminal.poller import NoResponseError
from vigie.views.terminal.styled_text import TerminalStyle
from vigie.views.text import output

EXAMPLE = """examples:
  vigie top                                       ? shows the keys, q quits
  vigie top --server http://head:8000
  vigie top --once                                print it once, for a file or a mail"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, NoResponseError, ValueError)
SECONDS = 10.0  # that an answer may take


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("--once", action="store_true", help="print the cluster and exit")
    parser.add_argument("--plain", action="store_true", help="no colors, ASCII only")
    parser.add_argument(
        "--every",
        type=_argument_types.seconds,
        default=3.0,
        metavar="SECONDS",
        help="refresh interval (default: %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print the raw response once")
    _server_client.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the cluster until the reader quits, or once."""
    first = _fetch(arguments, "api/pages/cluster")  # a server that is not there is reported at once
    if arguments.json:
        output.show([json.dumps(msgspec.json.decode(first))])
        return 0
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    style = TerminalStyle(
        output.colourful(sys.stdout) and not arguments.plain, arguments.plain or encoding != "utf8"
    )
    drawable = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if arguments.once or not drawable:
        output.show(app.render_once(lambda _: first, style, shutil.get_terminal_size().columns))
        return 0
    app.run(lambda path: _fetch_again(arguments, path), style, arguments.every)
    return 0


def _fetch(arguments: argparse.Namespace, path: str) -> bytes:
    try:
        return _server_client.request(arguments, "GET", path, seconds=SECONDS)
    except (OSError, http.client.HTTPException) as error:
        raise NoResponseError(f"{arguments.server}: {error}") from None
    except _server_client.ServerRequestError as error:
        raise NoResponseError(str(error)) from None


def _fetch_again(arguments: argparse.Namespace, path: str) -> bytes:
    """Request a page; by now the reader knows where, so that a line has room for why there is no answer."""
    try:
        return _fetch(arguments, path)
    except NoResponseError as error:
        raise NoResponseError(
            str(error).removeprefix(f"{_server_client.place(arguments).url}/{path}: ")
        ) from None
