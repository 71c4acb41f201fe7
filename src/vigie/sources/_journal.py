"""Kernel messages from the systemd journal, for users who may not read /dev/kmsg."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, MutableMapping
from typing import Any

from vigie.sources._log_lines import LogLine
from vigie.sources.core.source import Unavailable
from vigie.sources.core.tree import Tree

INTERVAL_SECONDS = 30.0  # seconds between two calls, as each starts a process
TIMEOUT_SECONDS = 10.0  # of one call
FIRST_LINES = 1000  # of messages from before the first read
MAX_LINES = 10_000  # per read; the rest follows with the next
PLACES = ("var/log/journal", "run/log/journal")


class Journal:
    """Follows the journal by its cursor, across restarts."""

    def __init__(self, root: str, kept: MutableMapping[str, str], every: float = INTERVAL_SECONDS) -> None:
        self._program = shutil.which("journalctl")
        places = (os.path.join(root, place) for place in PLACES)
        self._place = next((place for place in places if _has_journal(place)), "")
        self._state, self._every = kept, every
        self._cursor = kept.get("cursor", "")
        self._called_at = float("-inf")
        self._reason = ""  # the previous call failed
        if not self._place:
            raise Unavailable("no readable journal")
        if self._program is None:
            raise Unavailable("no journalctl")

    def lines(self) -> Iterator[LogLine]:
        """Yield new kernel messages, or raise Unavailable."""
        if time.monotonic() - self._called_at < self._every:
            if self._reason:
                raise Unavailable(self._reason)
            return
        self._called_at, self._reason = time.monotonic(), ""
        for text in self._run_journalctl():
            entry = _parse_entry(text)
            self._cursor = str(entry.get("__CURSOR", self._cursor))
            when, said = entry.get("__REALTIME_TIMESTAMP", ""), _decode_message(entry.get("MESSAGE"))
            if said and str(when).isdecimal():
                yield LogLine(int(when) // 1000, said)

    def save(self) -> None:
        if self._cursor:
            self._state["cursor"] = self._cursor

    def _run_journalctl(self) -> list[bytes]:
        begin = ["--after-cursor", self._cursor] if self._cursor else []
        most = MAX_LINES if self._cursor else FIRST_LINES
        command = [str(self._program), "--quiet", "--no-pager", "--output=json", "--output-fields=MESSAGE"]
        command += [f"--directory={self._place}", f"--lines={most}", *begin]
        try:
            done = subprocess.run(  # noqa: S603 - a program of the system, with arguments of ours
                [*command, "_TRANSPORT=kernel"], capture_output=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._failed(str(error)) from None
        if done.returncode:
            self._cursor = ""  # a cursor that the journal no longer has must not fail forever
            why = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise self._failed(why or f"exit {done.returncode}")
        return done.stdout.splitlines()

    def _failed(self, why: str) -> Unavailable:
        self._reason = f"journalctl: {why}"
        return Unavailable(self._reason)


def _has_journal(place: str) -> bool:
    """Return whether a system journal is readable: the directory may be a leftover."""
    machines = Tree(place).list_names()
    names = [f"{machine}/{name}" for machine in machines for name in Tree(f"{place}/{machine}").list_names()]
    files = (name for name in names if name.endswith(".journal") and "/system" in name)
    return any(os.access(f"{place}/{name}", os.R_OK) for name in files)


def _parse_entry(text: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(text)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _decode_message(said: object) -> str:
    """Return the text. journalctl prints what is not UTF-8 as a list of bytes."""
    if isinstance(said, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in said):
        return bytes(said).decode(errors="replace")
    return said if isinstance(said, str) else ""
