"""Arithmetic and comparison operators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vigie.query.arrays import Flags, Floats


def _power(base: Floats, exponent: Floats) -> Floats:
    # numpy computes a square root instead, which is NaN for minus infinity.
    return np.where(np.isneginf(base) & (exponent == 0.5), np.inf, np.power(base, exponent))


ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": _power,
    "atan2": np.arctan2,
}

COMPARISONS: dict[str, Callable[[Floats, Floats], Flags]] = {
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
}

SETS = ("and", "or", "unless")


def apply_operator(
    operator: str, left: Floats, right: Floats, *, as_bool: bool
) -> tuple[Floats, Flags | None]:
    """Return the values, and for a filtering comparison which of them stay."""
    with np.errstate(all="ignore"):
        if operator in ARITHMETIC:
            return ARITHMETIC[operator](left, right), None
        kept = COMPARISONS[operator](left, right)
    if as_bool:
        return kept.astype(np.float64), None
    return np.broadcast_to(left, kept.shape), kept
