"""Lists that a server answers page by page, and how their times are told to people."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from vigie.cli import _server
from vigie.cli.query import aligned

A_PAGE = 1000


def rows(
    arguments: argparse.Namespace, what: str, filters: Mapping[str, str], most: int
) -> list[dict[str, Any]]:
    """Return up to so many rows of /api/WHAT."""
    found: list[dict[str, Any]] = []
    cursor = ""
    while len(found) < most:
        limit = min(A_PAGE, most - len(found))
        asked = {**{name: word for name, word in filters.items() if word}, "limit": limit}
        query = urlencode({**asked, **({"before": cursor} if cursor else {})})
        body = _server.asked(arguments, "GET", f"api/{what}?{query}")
        try:
            answer = json.loads(body)
            found += answer[what]
        except (ValueError, KeyError, TypeError):
            raise _server.Unanswered("the answer is not that of a vigie server") from None
        cursor = answer.get("next", "")
        if not cursor:
            break
    return found


def show(found: Sequence[Mapping[str, Any]], table: Sequence[Sequence[str]], as_json: bool) -> None:
    """Print a line of JSON for each row, or the table."""
    lines = map(json.dumps, found) if as_json else aligned(table)
    for line in lines:
        print(line)


def since(begin_ms: int) -> str:
    """Return how long ago something began."""
    return lasting(time.time() * 1000 - begin_ms)


def lasting(milliseconds: float) -> str:
    """Return a length of time in its two largest units, such as 1d4h."""
    left = max(0, round(milliseconds / 1000))
    words: list[str] = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, length)
        if count or (unit == "s" and not words):
            words.append(f"{count}{unit}")
    return "".join(words[:2])
