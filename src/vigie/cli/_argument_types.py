"""Types of flags: numbers, durations and times."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from vigie.query.errors import QueryError

if TYPE_CHECKING:
    from vigie.server.http.requests import Parameters


def whole(most: int) -> Callable[[str], int]:
    """Take a whole number from 1 on."""

    def number(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text} should be a whole number from 1 to {most}")
        return int(text)

    return number


def seconds(text: str) -> float:
    """Parse an interval in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"{text} should be from 1 to 3600 seconds")
    return value


def length(text: str) -> int:
    """Parse a duration, in milliseconds."""
    try:
        found = _parameters(text).duration("given")
    except QueryError:
        found = 0
    if found <= 0:
        raise argparse.ArgumentTypeError(f"invalid duration {text!r}: use 30m or 6h")
    return found


def moment(text: str) -> int:
    try:
        return _parameters(text).time("given")
    except QueryError:
        why = "use 2026-11-01T12:00:00Z, or seconds since 1970"
        raise argparse.ArgumentTypeError(f"invalid time {text!r}: {why}") from None


def _parameters(text: str) -> Parameters:
    from vigie.server.http.requests import Parameters  # only when used: it brings PromQL's parser

    return Parameters(urlencode({"given": text}).encode())
