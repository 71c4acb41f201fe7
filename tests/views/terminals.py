"""A pseudo-terminal with a program in it, and what a person would see there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator

import pyte

PATIENCE = 60.0


class Terminal:
    """What the program wrote, and the screen that this makes."""

    def __init__(self, columns: int, rows: int) -> None:
        self.ours, self.theirs = pty.openpty()
        self.written = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._size(columns, rows)
        self.mode = termios.tcgetattr(self.theirs)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self.ours, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size, as a person does with the mouse."""
        self.read(0)
        self._screen.resize(rows, columns)
        self._size(columns, rows)

    def text(self) -> str:
        """Return what is on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def bottom(self) -> str:
        """Return the last row of the screen."""
        return str(self._screen.display[-1])

    def until(self, words: str, there: bool = True, at_bottom: bool = False) -> str:
        """Return the screen as soon as it shows the words, or shows them no more."""
        deadline = time.monotonic() + PATIENCE
        while (words in (self.bottom() if at_bottom else self.text())) != there:
            left = deadline - time.monotonic()
            assert left > 0, f"{words!r} {'never came' if there else 'stayed'}:\n{self.text()}"
            self.read(min(left, 0.5))
        return self.text()

    def read(self, seconds: float) -> None:
        """Take in what the program has written."""
        while select.select([self.ours], [], [], seconds)[0]:
            try:
                got = os.read(self.ours, 65536)
            except OSError:
                return
            self.written += got
            self._stream.feed(got)
            seconds = 0

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextlib.contextmanager
def inside(terminal: Terminal, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command as the foreground program of a terminal."""
    environment = {**os.environ, "TERM": "xterm-256color", "VIGIE_AGENT_SOCKET": "off"}
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        environment.pop(name, None)
    process = subprocess.Popen(
        ["setsid", "--ctty", *command],  # so that it hears of another size
        stdin=terminal.theirs,
        stdout=terminal.theirs,
        stderr=terminal.theirs,
        env=environment,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        os.close(terminal.ours)
        os.close(terminal.theirs)
