"""Programs that the browser looks at: a demo whose clock stands still, or `vigie up` on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench.programs import free_port

from tests.real.waiting import until

NOW = "2026-11-16T06:00:00Z"
START = 300.0  # seconds, for hours of history on a machine that has other work
STORY = (f"--now={NOW}", "--seed=1", "--history=6h")


class Running:
    """A server that answers, and its process."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.port = process, port
        self.address = f"http://127.0.0.1:{port}"

    def get(self, path: str) -> Any:
        """Return what a path says."""
        with urlopen(f"{self.address}/{path}", timeout=30) as answer:
            return json.loads(answer.read())

    def end(self) -> None:
        """End it by its id, as the service manager does."""
        self.process.terminate()
        self.process.wait(30)


@contextlib.contextmanager
def vigie(command: str, data: Path, *flags: str, port: int = 0) -> Iterator[Running]:
    """Run a command that serves the page, from its first answer to the end of the block."""
    port = port or free_port()
    line = [sys.executable, "-m", "vigie", command, f"--listen=127.0.0.1:{port}", f"--data={data}", *flags]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server = Running(process, port)
    try:
        until(
            lambda: server.get("api/v1/query?query=up")["data"]["result"], f"vigie {command} answers", START
        )
        yield server
    finally:
        server.end()
