"""Who holds a TCP port of this machine."""

from __future__ import annotations

import os
from pathlib import Path

LISTENING = "0A"


def holder(port: int, proc: Path = Path("/proc")) -> str:
    """Return "NAME (pid N)" of the process that listens on the port, as far as we may look."""
    inodes = {inode for table in ("tcp", "tcp6") for inode in _listening(proc / "net" / table, port)}
    for pid in filter(str.isdecimal, os.listdir(proc)):
        try:
            for descriptor in os.listdir(proc / pid / "fd"):
                if os.readlink(proc / pid / "fd" / descriptor) in inodes:
                    return f"{(proc / pid / 'comm').read_text().strip()} (pid {pid})"
        except OSError:
            continue  # it ended meanwhile, or is not ours to look at
    return "another process"


def _listening(table: Path, port: int) -> list[str]:
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    wanted = f":{port:04X}"
    return [f"socket:[{row[9]}]" for row in rows if row[1].endswith(wanted) and row[3] == LISTENING]
