"""Numbers as text, as PromQL formats and parses them."""

from __future__ import annotations

import math

import numpy as np


def format_number(number: float) -> str:
    """Return the shortest decimal that parses as the same number, without an exponent."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return np.format_float_positional(number, unique=True, trim="-")


def parse_number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and text == text.strip() else None
    except ValueError:
        return None
