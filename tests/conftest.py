"""Flags of the test run."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# Agents that tests start leave the socket of this machine's own agent alone.
os.environ.setdefault("VIGIE_AGENT_SOCKET", "off")

# Tests write tens of thousands of small files: in memory that costs a tenth, where there is room for them.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30


def _fits(place: Path) -> bool:
    """Tell whether a file system has room, and lets programs and libraries run that tests put there."""
    if not os.access(place, os.W_OK):
        return False
    about = os.statvfs(place)
    return about.f_bavail * about.f_frsize >= ROOM and not about.f_flag & os.ST_NOEXEC


if "TMPDIR" not in os.environ and _fits(MEMORY):
    tempfile.tempdir = str(MEMORY)

# A loaded machine takes its time: how long an example takes proves nothing. The same examples every time:
# new ones are looked for by whoever asks (--hypothesis-profile=long), not by whoever changes something else.
settings.register_profile("patient", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that rewrites expectations."""
    parser.addoption(
        "--rewrite", action="store_true", help="write what the recorded machines give now as what is expected"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, nor later among all that was collected."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
