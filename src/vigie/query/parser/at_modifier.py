"""Times after @ that the parser cannot represent: before 1970, and after the year 9999.

No sample is outside that range, so the nearest time inside it gives the same result.
"""

from __future__ import annotations

import re

from vigie.query.parser.grammar import ParseError
from vigie.query.parser.tokens import STRING

MAX_SECONDS = 253_402_300_799  # seconds: the end of the year 9999
OUT_OF_BOUNDS = (2**63 - 1) / 1000  # seconds: Prometheus rejects these
_AT = re.compile(rf"({STRING})|@\s*([-+]?)\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)", re.DOTALL)


def clamp_at_modifiers(query: str) -> str:
    """Clamp every time after @ to the years 1970 to 9999."""
    return _AT.sub(_clamp, query)


def _clamp(found: re.Match[str]) -> str:
    literal, sign, digits = found.groups()
    if literal:
        return found[0]
    seconds = float(digits)
    if seconds >= OUT_OF_BOUNDS:
        raise ParseError(f"timestamp out of bounds for @ modifier: {sign}{digits}")
    if sign == "-":
        return "@ 0"
    return f"@ {MAX_SECONDS}" if seconds > MAX_SECONDS else found[0]
