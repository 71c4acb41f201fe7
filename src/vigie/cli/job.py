"""Name a job by hand on this node, for schedulers that vigie does not read: in their prolog and epilog."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import urlencode

from vigie.agent.http.job_commands import CLEAR, SET
from vigie.cli import _agent_client, _server_client
from vigie.cli.settings import flags

EXAMPLE = """examples:
  vigie job set 4711 --gpus 0,1 --user ada        prolog: the job has these GPUs of this node
  vigie job set 4712 --user ada                   it has the whole node
  vigie job clear 4711                            epilog"""
ERRORS = (*flags.ERRORS, _server_client.ServerRequestError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("do", choices=("set", "clear"), help="name the job, or end it")
    parser.add_argument("id", metavar="ID", help="the scheduler's id of the job")
    parser.add_argument(
        "--gpus", default="", metavar="LIST", help="indices of its GPUs (default: the whole node)"
    )
    parser.add_argument(
        "--user", default="", metavar="USER", help="user of the job; others than yourself require root"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="data directory of the agent")


def run(arguments: argparse.Namespace) -> int:
    """Tell the agent, and print its response."""
    given = {"id": arguments.id}
    if arguments.do == "set":
        given |= {name: text for name in ("gpus", "user") if (text := getattr(arguments, name))}
    target = f"{SET if arguments.do == 'set' else CLEAR}?{urlencode(given)}"
    try:
        status, body = _agent_client.request(_agent_client.places(arguments), target)
    except _agent_client.NoAgentError as error:
        raise _server_client.ServerRequestError(f"{error}. Start one: `vigie agent`") from None
    text = body.decode(errors="replace").rstrip()
    print(text if status == 200 else f"vigie job: {text}", file=sys.stdout if status == 200 else sys.stderr)
    return 0 if status == 200 else 1
