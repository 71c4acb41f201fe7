"""Flags of the test run."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Agents that tests start leave the socket of this machine's own agent alone.
os.environ.setdefault("VIGIE_AGENT_SOCKET", "off")

# A loaded machine takes its time: how long an example takes proves nothing.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that rewrites expectations."""
    parser.addoption(
        "--rewrite", action="store_true", help="write what the recorded machines give now as what is expected"
    )
