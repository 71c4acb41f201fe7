"""Starts programs to measure, and reads what they cost."""

from __future__ import annotations

import contextlib
import http.client
import os
import platform
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path


def free_port() -> int:
    """Return a port that nobody listens on now, below those that Linux gives to outgoing connections."""
    while True:
        port = 10_000 + secrets.randbelow(22_768)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


class Program:
    """A running exporter."""

    def __init__(self, pid: int, port: int, path: str) -> None:
        self.pid = pid
        self._path = path
        self._client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def scrape(self, encoding: str = "gzip") -> bytes:
        """Return one scrape's body."""
        self._client.request("GET", self._path, headers={"Accept-Encoding": encoding})
        return self._client.getresponse().read()

    def cpu(self) -> float:
        """Return the CPU seconds of the process so far, to the nanosecond."""
        return time.clock_gettime((~self.pid << 3) | 2)  # CPUCLOCK_SCHED of another process

    def kill(self) -> None:
        """End it as a crash would."""
        os.kill(self.pid, signal.SIGKILL)

    def rss(self) -> float:
        """Return the resident memory in MB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"{self.pid} has ended")

    def pss(self) -> float:
        """Return the memory in MB of the process and its children, what they share counted once."""
        return sum(map(_pss, [self.pid, *_descendants(self.pid)])) / 1024


@contextlib.contextmanager
def running(command: list[str], port: int, path: str, patience: float = 60) -> Iterator[Program]:
    """Run a command that listens on the port, from its first answer to the end of the block."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + patience
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {' '.join(command)}")
            time.sleep(0.02)
        yield Program(process.pid, port, path)
    finally:
        process.terminate()
        process.wait(max(10, patience))


def wait_for(port: int, path: str, patience: float = 600) -> None:
    """Return when the path answers 200."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(client):
            client.request("GET", path)
            if client.getresponse().status == 200:
                return
        time.sleep(0.05)
    raise RuntimeError(f"{path} of port {port} did not answer within {patience:g} s")


def _descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _descendants(child)


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0  # it ended meanwhile


def machine() -> str:
    """Return one line about where and when this was measured."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    python = platform.python_version()
    kernel = platform.release()
    return f"{when}, {os.cpu_count()} cores ({model}), {memory:.0f} GiB, Linux {kernel}, Python {python}"
