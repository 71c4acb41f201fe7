"""Show settings and their origin."""

from __future__ import annotations

import argparse
import json
from typing import Any

from vigie.cli.settings import flags
from vigie.common.redaction import redact_url

EXAMPLE = "examples:\n  vigie config show\n  vigie config show --json"
ERRORS = flags.ERRORS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["show"], help="print every setting")
    parser.add_argument("--json", action="store_true", help="print JSON")
    flags.add_arguments(parser, "config")


def run(arguments: argparse.Namespace) -> int:
    """Print every setting as the configuration file would hold it."""
    settings = flags.resolve(arguments)
    if arguments.json:
        every = {key: value._asdict() for key, value in settings.values.items()}
        print(redact_url(json.dumps(every, indent=2)))
        return 0
    section = ""
    for setting in settings.settings:
        if setting.section != section:
            print(f"{chr(10) if section else ''}[{setting.section}]")
            section = setting.section
        value, origin = settings.values[setting.key]
        print(f"{f'{setting.name} = {toml(value)}':<40} # {origin}")
    return 0


def toml(value: Any) -> str:
    return redact_url(json.dumps(value))
