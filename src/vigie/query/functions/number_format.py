"""How numbers are written and read where PromQL makes text of them or the reverse."""

from __future__ import annotations

import math

import numpy as np


def format_number(number: float) -> str:
    """Return the shortest decimal that reads back as the same number, without an exponent."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return np.format_float_positional(number, unique=True, trim="-")


def parse_number(text: str) -> float | None:
    """Return the number that a text spells, or nothing."""
    try:
        return float(text) if text.isascii() and text == text.strip() else None
    except ValueError:
        return None
