"""Let the agent of this machine go of the GPUs' driver for a while (reset, MIG), or pause profiling."""

from __future__ import annotations

import argparse
import sys
from urllib.parse import urlencode

from vigie.agent.gpus import PAUSE, RELEASE, RESUME, TAKE
from vigie.cli import _agent, _settings
from vigie.query.errors import QueryError
from vigie.server.api.parameters import Parameters

EXAMPLE = """examples:
  vigie gpus release                              for ten minutes
  vigie gpus release --for 1h
  vigie gpus take                                 use the driver again at once
  vigie gpus pause --for 5m                       give DCGM's counters to a profiler, for every client
  vigie gpus resume"""
ERRORS = (*_settings.ERRORS, _agent.NoAgent, QueryError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    what = (
        "close every handle, or use the driver again; stop DCGM's profiling counters, or let them count again"
    )
    parser.add_argument("do", choices=("release", "take", "pause", "resume"), help=what)
    parser.add_argument("--for", dest="length", default="10m", metavar="DURATION", help="(default: 10m)")
    parser.add_argument("--data", default="", metavar="DIR", help="the data directory of the agent")


def run(arguments: argparse.Namespace) -> int:
    """Tell the agent, and print what it says."""
    target = {"release": RELEASE, "take": TAKE, "pause": PAUSE, "resume": RESUME}[arguments.do]
    if target in (RELEASE, PAUSE):
        length = Parameters(urlencode({"for": arguments.length}).encode()).duration("for")
        target += f"?{urlencode({'seconds': length / 1000})}"
    status, body = _agent.asked(_agent.places(arguments), target)
    said = body.decode(errors="replace").rstrip()
    print(said if status == 200 else f"vigie gpus: {said}", file=sys.stdout if status == 200 else sys.stderr)
    return 0 if status == 200 else 1
