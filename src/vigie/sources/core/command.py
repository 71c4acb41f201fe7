"""Runs a program for what it prints: no shell, a deadline, bounded output, and nothing left behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence

MAX_LINE = 1 << 20
MAX_OUTPUT = 256 << 20
MAX_ERRORS = 4096
_PIECE = 1 << 16


class CommandError(Exception):
    """A program that failed, was too slow, or printed too much; the message says which and why."""


def run_command(
    argv: Sequence[str], environment: Mapping[str, str], seconds: float, limit: int = MAX_OUTPUT
) -> Iterator[str]:
    """Yield the lines that a program prints as it prints them, or raise OSError or CommandError."""
    # S603: the arguments are ours, and no shell reads them.
    process = subprocess.Popen(  # noqa: S603
        list(argv),
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield from _Output(process, argv[0], time.monotonic() + seconds, seconds).lines(limit)
    finally:
        _end(process)


class _Output:
    """What a running program writes."""

    def __init__(self, process: subprocess.Popen[bytes], name: str, deadline: float, seconds: float) -> None:
        self._process, self._name = process, os.path.basename(name)
        self._deadline, self._seconds = deadline, seconds
        self._errors = bytearray()

    def lines(self, limit: int) -> Iterator[str]:
        """Yield the lines of standard output; raise when the program failed in the end."""
        left = bytearray()
        total = 0
        for piece in self._pieces():
            total += len(piece)
            left += piece
            if total > limit or len(left) > MAX_LINE + _PIECE:
                raise CommandError(f"{self._name} printed too much: over {min(limit, MAX_LINE)} bytes")
            *whole, rest = left.split(b"\n")
            left = bytearray(rest)
            yield from (line.decode("utf-8", "replace") for line in whole)
        if left:
            yield left.decode("utf-8", "replace")
        self._check_exit()

    def _pieces(self) -> Iterator[bytes]:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            selector.register(self._process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(self._time_left())
                for key, _ in ready:
                    piece = os.read(key.fd, _PIECE)
                    if not piece:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self._process.stdout:
                        yield piece
                    elif len(self._errors) < MAX_ERRORS:
                        self._errors += piece

    def _time_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise CommandError(f"{self._name} timed out after {self._seconds:g}s")
        return left

    def _check_exit(self) -> None:
        try:
            code = self._process.wait(self._time_left())
        except subprocess.TimeoutExpired:
            raise CommandError(f"{self._name} timed out after {self._seconds:g}s") from None
        if code:
            said = self._errors.decode("utf-8", "replace").strip().partition("\n")[0][:200]
            raise CommandError(f"{self._name} failed with {code}" + (f": {said}" if said else ""))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program with all that it started, and collect it."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()
