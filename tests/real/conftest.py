"""Real peers: skipped with the reason where they are missing, failed under CI=true."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.programs import free_port, running

Start = Callable[..., str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here as needing a real peer."""
    here = str(Path(__file__).parent)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.real)


def need(program: str) -> str:
    """Return the program's path, or skip; under CI a missing part is a failure."""
    path = shutil.which(program)
    if path:
        return path
    message = f"{program} is not installed; as root: scripts/peers"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def get(url: str, **headers: str) -> str:
    """Return the body of a page."""
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text: str = answer.read().decode()
        return text


@pytest.fixture
def exporter() -> Iterator[Start]:
    """Return a starter of prometheus-node-exporter that gives its address."""
    with _Starter() as start:
        yield lambda *flags: start(
            lambda port: [need("prometheus-node-exporter"), f"--web.listen-address=127.0.0.1:{port}", *flags]
        )


@pytest.fixture
def agent() -> Iterator[Start]:
    """Return a starter of our agent that gives its address."""
    with _Starter() as start:
        yield lambda *flags, port=None: start(
            lambda free: [sys.executable, "-m", "vigie", "agent", f"--listen=127.0.0.1:{free}", *flags], port
        )


class _Starter:
    """Starts programs and ends them, by their id, when the test is over."""

    def __enter__(self) -> Callable[..., str]:
        self._stack = contextlib.ExitStack()
        return self._start

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, command: Callable[[int], list[str]], port: int | None = None) -> str:
        port = port or free_port()
        self._stack.enter_context(running(command(port), port, "/"))
        return f"http://127.0.0.1:{port}"


def output(*command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program to its end and return what it said."""
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
