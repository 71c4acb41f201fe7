"""Print the version of vigie and of the Python it runs on."""

from __future__ import annotations

import argparse
import json
import platform

import vigie

EXAMPLE = "example:\n  vigie version --json"
ERRORS: tuple[type[Exception], ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    facts = {"vigie": vigie.__version__, "python": platform.python_version()}
    print(json.dumps(facts) if arguments.json else f"vigie {facts['vigie']} (Python {facts['python']})")
    return 0
