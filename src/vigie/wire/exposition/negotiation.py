"""Content negotiation: exposition format and compression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from vigie.wire.exposition.renderer import OPENMETRICS, TEXT, Format


@lru_cache(maxsize=32)  # a scraper sends the same headers every time
def choose_format(accept: str) -> Format:
    """Return the preferred format, plain text by default.

    >>> choose_format("application/openmetrics-text;version=1.0.0,text/plain;q=0.5").name
    'openmetrics'
    """
    liked = parse_accept(accept)
    openmetrics = liked.get("application/openmetrics-text", 0.0)
    text = max(liked.get(name, 0.0) for name in ("text/plain", "text/*", "*/*"))
    return OPENMETRICS if openmetrics > text or (openmetrics and openmetrics == text) else TEXT


@lru_cache(maxsize=32)
def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the Accept-Encoding header allows gzip."""
    liked = parse_accept(accept_encoding)
    return liked.get("gzip", liked.get("*", 0.0)) > 0


def parse_accept(header: str) -> Mapping[str, float]:
    """Return the q value of each entry of an Accept header, in lower case. Invalid values count as 0."""
    liked: dict[str, float] = {}
    for entry in header.lower().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        if name:
            liked[name] = max(weight, liked.get(name, 0.0))
    return liked
