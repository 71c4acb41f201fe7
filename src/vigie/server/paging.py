"""Lists that are answered page by page: how many rows, and from behind which one on."""

from __future__ import annotations

import re

from vigie.query.errors import BadData
from vigie.server.api.parameters import Parameters

LIMIT, MOST = 100, 1000
CURSOR = re.compile(r"(-?[0-9]{1,18})\.([0-9]{1,18})")


def limit_of(given: Parameters) -> int:
    """Return how many rows are wanted at most."""
    limit = number_of(given, "limit") if given.one("limit") else LIMIT
    if not 1 <= limit <= MOST:
        raise BadData(f'invalid parameter "limit": it should be between 1 and {MOST}')
    return limit


def number_of(given: Parameters, name: str) -> int:
    """Return a whole number that must be given."""
    text = given.one(name)
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise BadData(f'invalid parameter "{name}": it should be a whole number')
    return int(text)


def cursor_of(given: Parameters) -> tuple[int, int] | None:
    """Return behind which time and number the page begins."""
    text = given.one("before")
    if not text:
        return None
    found = CURSOR.fullmatch(text)
    if not found:
        raise BadData('invalid parameter "before": it should be what an answer gave as "next"')
    return int(found[1]), int(found[2])
