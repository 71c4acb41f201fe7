"""Which network interfaces the operator wants to hear of."""

from __future__ import annotations

import re
from re import Pattern

from vigie.sources._host import Host
from vigie.sources._source import Option, Unavailable

EXCLUDE = Option("exclude", "", "Regular expression of interfaces to leave out; empty keeps them all.")


def excluded(host: Host) -> Pattern[str] | None:
    """Return the pattern of interfaces to leave out, or None when all are wanted."""
    if "exclude" not in host.memory:
        text = host.options.get("exclude", "")
        try:
            host.memory["exclude"] = re.compile(text) if text else None
        except re.error as error:
            raise Unavailable(f"the option exclude is no regular expression: {error}") from error
    pattern: Pattern[str] | None = host.memory["exclude"]
    return pattern
