"""A terminal taken over for a while and given back as it was, whatever ends the program."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import NoReturn

from vigie.views.terminal.keys import decode_keys
from vigie.views.terminal.styled_text import Line, TerminalStyle, encode_line, length

CLEAR, REST = "\x1b[2J", "\x1b[K"
# The alternate screen, no cursor, no wrapping at the right edge; and the way back.
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J", b"\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
ENDING = (signal.SIGTERM, signal.SIGHUP)
HEARD = (*ENDING, signal.SIGINT, signal.SIGWINCH, signal.SIGTSTP)
ESCAPE_SECONDS = 0.1  # how long the rest of a key's bytes may take, also over a slow line
MAX_BYTES = 1024


def write_rows(lines: Sequence[Line], columns: int, look: TerminalStyle) -> list[str]:
    # At the right edge, clearing the rest of the row would clear its last character.
    return [encode_line(line, look) + (REST if length(line) < columns else "") for line in lines]


def changes(before: Sequence[str], wanted: Sequence[str]) -> str:
    """Return what to write: the rows that are others than before, or everything if nothing is known."""
    known = len(before) == len(wanted)
    rows = [
        f"\x1b[{number};1H{text}"
        for number, text in enumerate(wanted, start=1)
        if not known or text != before[number - 1]
    ]
    return ("" if known else CLEAR) + "".join(rows)


class Screen:
    def __init__(self, look: TerminalStyle) -> None:
        self._look = look
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._shown: list[str] = []
        self._size = (0, 0)
        self._waiting = b""
        self._wake_out, self._wake_in = os.pipe()
        for end in (self._wake_out, self._wake_in):
            os.set_blocking(end, False)

    def __enter__(self) -> Screen:
        self._before = termios.tcgetattr(self._in)
        self._handlers = {number: signal.getsignal(number) for number in HEARD}
        self._old_wake = signal.set_wakeup_fd(self._wake_in, warn_on_full_buffer=False)
        for number in ENDING:
            signal.signal(number, _end)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have left it ignored
        signal.signal(signal.SIGWINCH, lambda *_: None)  # that it wakes us is all we need
        signal.signal(signal.SIGTSTP, self._pause)
        try:
            self._take()
        except BaseException:  # a signal, too, must not leave it half taken
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for number in HEARD:
            signal.signal(number, signal.SIG_IGN)  # nothing may come between us and the way back
        with contextlib.suppress(OSError, termios.error):  # the terminal itself may have gone
            self._give_back()
        signal.set_wakeup_fd(self._old_wake)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def size(self) -> tuple[int, int]:
        found = os.get_terminal_size(self._out)
        return max(1, found.columns), max(1, found.lines)

    def wake(self) -> None:
        """Make whoever waits for keys look up; any thread may say so."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_in, b"\0")

    def draw(self, lines: Sequence[Line], size: tuple[int, int]) -> None:
        """Show the lines; only what changed is written."""
        if size != self._size:
            self._size, self._shown = size, []
        wanted = write_rows(lines, size[0], self._look)
        before, self._shown = self._shown, wanted
        try:
            self._write(changes(before, wanted).encode(errors="replace"))
        except OSError:
            _end(signal.SIGHUP)  # the terminal has gone

    def keys(self, seconds: float) -> list[str]:
        """Return the keys that were pressed, after at most so long; none when something else happened."""
        ready, _, _ = select.select([self._in, self._wake_out], [], [], seconds)
        if self._wake_out in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_out, MAX_BYTES)
        if self._in not in ready:
            return []
        self._waiting += self._read()
        keys, self._waiting = decode_keys(self._waiting, done=False)
        while self._waiting and select.select([self._in], [], [], ESCAPE_SECONDS)[0]:
            self._waiting += self._read()
            more, self._waiting = decode_keys(self._waiting, done=False)
            keys += more
        last, self._waiting = decode_keys(self._waiting, done=True)
        return keys + last

    def _read(self) -> bytes:
        got = b""
        with contextlib.suppress(OSError):
            got = os.read(self._in, MAX_BYTES)
        return got or _end(signal.SIGHUP)  # nothing: the terminal has gone

    def _take(self) -> None:
        mode = termios.tcgetattr(self._in)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self._in, termios.TCSADRAIN, mode)
        self._shown = []
        self._write(ENTER)

    def _give_back(self) -> None:
        self._write(LEAVE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)

    def _pause(self, number: int, _: FrameType | None) -> None:
        """Stop as Ctrl-Z asks, and come back when the shell says so."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._pause)
        self._take()

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._out, data) :]


def _end(number: int, _: FrameType | None = None) -> NoReturn:
    raise SystemExit(128 + number)
