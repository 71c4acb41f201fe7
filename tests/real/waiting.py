"""Waits on a condition, within a bound."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest

PATIENCE = 60.0


def until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Return what the condition gives as soon as that is true; an address that does not answer yet is not."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, KeyError, ValueError):
            if found := condition():
                return found
        time.sleep(0.05)
    pytest.fail(f"within {patience:g} s never: {what}")
