"""Let the agent of this machine go of the GPUs' driver for a while: for a reset, MIG, or another driver."""

from __future__ import annotations

import argparse
import sys
from urllib.parse import urlencode

from vigie.agent.gpus import RELEASE, TAKE
from vigie.cli import _agent, _settings
from vigie.query.errors import QueryError
from vigie.server.api.parameters import Parameters

EXAMPLE = """examples:
  vigie gpus release                              for ten minutes
  vigie gpus release --for 1h
  vigie gpus take                                 use the driver again at once"""
ERRORS = (*_settings.ERRORS, _agent.NoAgent, QueryError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("do", choices=("release", "take"), help="close every handle, or use the driver again")
    parser.add_argument("--for", dest="length", default="10m", metavar="DURATION", help="(default: 10m)")
    parser.add_argument("--data", default="", metavar="DIR", help="the data directory of the agent")


def run(arguments: argparse.Namespace) -> int:
    """Tell the agent, and print what it says."""
    target = TAKE
    if arguments.do == "release":
        length = Parameters(urlencode({"for": arguments.length}).encode()).duration("for")
        target = f"{RELEASE}?{urlencode({'seconds': length / 1000})}"
    status, body = _agent.asked(_agent.places(arguments), target)
    said = body.decode(errors="replace").rstrip()
    print(said if status == 200 else f"vigie gpus: {said}", file=sys.stdout if status == 200 else sys.stderr)
    return 0 if status == 200 else 1
