"""Which process serves a port, and on which GPUs it or its children compute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from vigie.agent.gpu_processes import GpuMemory
from vigie.common.listen import port_processes

DEEPEST = 32  # generations of processes


class ServerGpu(NamedTuple):
    """A GPU of a server, with the process that computes there; either may not be known."""

    pid: str
    gpu: str


def find_server_gpus(
    port: int, memory: Callable[[], GpuMemory], proc: Path = Path("/proc")
) -> list[ServerGpu]:
    """Return the GPUs of whoever listens on a port: a server's workers are its children.

    Behind a proxy for containers, or without the right to look at others' files, none is known.
    """
    owners = port_processes(port, proc)
    if not owners:
        return [ServerGpu("", "")]
    held = memory()
    found = [
        ServerGpu(pid, gpu)
        for pid in sorted(held)
        if owners & _ancestry(int(pid), proc)
        for gpu in sorted(held[pid])
    ]
    return found or [ServerGpu(str(min(owners)), "")]


def _ancestry(pid: int, proc: Path) -> set[int]:
    """Return a process and those that it descends from."""
    line: set[int] = set()
    while pid > 1 and len(line) < DEEPEST:
        line.add(pid)
        try:
            pid = int((proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            break  # it has ended
    return line
