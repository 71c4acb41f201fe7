"""Release the GPU driver for a while (reset, MIG), or pause profiling."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

from vigie.agent.http.gpu_commands import PAUSE, RELEASE, RESUME, TAKE
from vigie.cli import _agent_client, _argument_types, _server_client
from vigie.cli.settings import flags
from vigie.views.text.text_width import clean
from vigie.wire.api.resources import CommandOutput

EXAMPLE = """examples:
  vigie gpus release                              for ten minutes
  vigie gpus release --for 1h
  vigie gpus take                                 use the driver again at once
  vigie gpus pause --for 5m                       give DCGM's counters to a profiler, for every client
  vigie gpus resume
  vigie gpus release --node n17 --for 1h          on another node, for admins; also take"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "release or take back the driver; pause or resume DCGM's profiling counters"
    parser.add_argument("do", choices=("release", "take", "pause", "resume"), help=what)
    parser.add_argument(
        "--for",
        dest="length",
        type=_argument_types.length,
        default="10m",
        metavar="DURATION",
        help="duration (default: 10m)",
    )
    parser.add_argument("--node", default="", metavar="NODE", help="on this node, via the server")
    parser.add_argument(
        "--server",
        default=_server_client.DEFAULT,
        metavar="URL",
        help="server URL, with --node (default: %(default)s)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="data directory of the agent; with --node that of the server",
    )


def run(arguments: argparse.Namespace) -> int:
    """Send the command to the agent, and print its result."""
    if arguments.node:
        return _ordered(arguments)
    target = {"release": RELEASE, "take": TAKE, "pause": PAUSE, "resume": RESUME}[arguments.do]
    if target in (RELEASE, PAUSE):
        target += f"?{urlencode({'seconds': arguments.length / 1000})}"
    try:
        status, body = _agent_client.request(_agent_client.places(arguments), target)
    except _agent_client.NoAgentError as error:
        raise _server_client.ServerRequestError(
            f"{error}. Run `vigie agent`, or set --node NODE for another node"
        ) from None
    said = body.decode(errors="replace").rstrip()
    print(said if status == 200 else f"vigie gpus: {said}", file=sys.stdout if status == 200 else sys.stderr)
    return 0 if status == 200 else 1


def _ordered(arguments: argparse.Namespace) -> int:
    """Send the command to a node via the server, and print its result."""
    if arguments.do not in ("release", "take"):
        raise argparse.ArgumentError(None, f"{arguments.do} --node: use release or take")
    path = f"api/nodes/{quote(arguments.node, safe='')}/gpus/{arguments.do}"
    body = _server_client.request(arguments, "POST", f"{path}?{urlencode({'for': arguments.length / 1000})}")
    print(f"{arguments.node}: {clean(_server_client.decode(body, CommandOutput).said)}")
    return 0
