"""Who holds a TCP port of this machine: which process, and whose it is."""

from __future__ import annotations

import os
from pathlib import Path

LISTENING = "0A"


def holder(port: int, proc: Path = Path("/proc")) -> str:
    """Return "NAME (pid N)" of the process that listens on the port, as far as we may look."""
    inodes = {f"socket:[{row[9]}]" for row in _listening(port, proc)}
    for pid in filter(str.isdecimal, os.listdir(proc)):
        try:
            for descriptor in os.listdir(proc / pid / "fd"):
                if os.readlink(proc / pid / "fd" / descriptor) in inodes:
                    return f"{(proc / pid / 'comm').read_text().strip()} (pid {pid})"
        except OSError:
            continue  # it ended meanwhile, or is not ours to look at
    return "another process"


def owners(port: int, proc: Path = Path("/proc")) -> set[int]:
    """Return the uids of those who listen on the port; anybody may look at that."""
    return {int(row[7]) for row in _listening(port, proc)}


def _listening(port: int, proc: Path) -> list[list[str]]:
    rows = []
    for table in ("tcp", "tcp6"):
        try:
            rows += [line.split() for line in (proc / "net" / table).read_text().splitlines()[1:]]
        except OSError:
            continue  # a kernel without IPv6
    return [row for row in rows if row[1].endswith(f":{port:04X}") and row[3] == LISTENING]
