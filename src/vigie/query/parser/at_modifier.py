"""Times after @ that the parser cannot hand over: before 1970, and after the year 9999.

No sample is that old or that new, so the nearest time that can be handed over gives the same answer.
"""

from __future__ import annotations

import re

from vigie.query.parser.grammar import NotParsedError
from vigie.query.parser.tokens import STRING

LATEST = 253_402_300_799  # seconds: the end of the year 9999
OUT_OF_BOUNDS = (2**63 - 1) / 1000  # seconds: what Prometheus refuses
_AT = re.compile(rf"({STRING})|@\s*([-+]?)\s*(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)", re.DOTALL)


def clamp_at_modifiers(query: str) -> str:
    """Return the query with every time after @ between 1970 and 9999."""
    return _AT.sub(_near, query)


def _near(found: re.Match[str]) -> str:
    literal, sign, digits = found.groups()
    if literal:
        return found[0]
    seconds = float(digits)
    if seconds >= OUT_OF_BOUNDS:
        raise NotParsedError(f"timestamp out of bounds for @ modifier: {sign}{digits}")
    if sign == "-":
        return "@ 0"
    return f"@ {LATEST}" if seconds > LATEST else found[0]
