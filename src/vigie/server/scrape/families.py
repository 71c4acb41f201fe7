"""What exporters say about their metrics: kind, help and unit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.server.scrape.line import unescaped

MOST_HELP, MOST_WORD = 1024, 40  # characters
UNKNOWN = "unknown"
_COMMENT = re.compile(r'# (HELP|TYPE|UNIT) (?:([a-zA-Z_:][a-zA-Z0-9_:]*)|"((?:[^"\\]|\\.)*)") ?(.*)')


class Family(NamedTuple):
    """What is known of one metric."""

    kind: str = UNKNOWN
    help: str = ""
    unit: str = ""


def families(content: str) -> dict[str, Family]:
    """Return the families that the comments of an exposition describe; other comments are no error."""
    found: dict[str, Family] = {}
    for keyword, name, text in _comments(content):
        family = found.get(name, Family())
        if keyword == "TYPE":
            kind = text.strip().lower()
            family = family._replace(kind=UNKNOWN if kind == "untyped" else kind[:MOST_WORD])
        elif keyword == "HELP":
            family = family._replace(help=unescaped(text)[:MOST_HELP])
        else:
            family = family._replace(unit=text.strip()[:MOST_WORD])
        found[name] = family
    return found


def _comments(content: str) -> Iterator[tuple[str, str, str]]:
    for line in content.split("\n"):
        match = _COMMENT.match(line) if line[:1] == "#" else None
        if match:
            keyword, plain, quoted, text = match.groups()
            yield keyword, unescaped(quoted) if plain is None else plain, text
