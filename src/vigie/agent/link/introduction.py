"""What the agent tells the server of its node."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import vigie
from vigie.agent.link.messages import PROTOCOL, Hello


class Introduction(NamedTuple):
    """Who this agent is, from its start to its end."""

    node: str
    cadence: float
    labels: Mapping[str, str]
    start: str
    boot_id: str
    machine_id: str
    listen: str = ""  # where a Prometheus elsewhere could scrape us

    def hello(self, address: str) -> Hello:
        """Return the first word on a connection that has this address on our side."""
        return Hello(
            PROTOCOL,
            self.node,
            self.start,
            version=vigie.__version__,
            host=socket.gethostname(),
            addresses=[address] if address else [],
            machine_id=self.machine_id,
            boot_id=self.boot_id,
            inventory=inventory(),
            labels=dict(self.labels),
            cadence=self.cadence,
            wall_ms=time.time_ns() // 1_000_000,
            uptime_ms=uptime_ms(),
            listen=self.listen,
        )


def introduction(node: str, cadence: float, labels: Mapping[str, str], listen: str = "") -> Introduction:
    """Return who this agent is; to be called once, at its start."""
    boot_id = _line(Path("/proc/sys/kernel/random/boot_id"))
    machine_id = _line(Path("/etc/machine-id"))
    return Introduction(node, cadence, labels, secrets.token_hex(8), boot_id, machine_id, listen)


def uptime_ms() -> int:
    """Return the time on the clock that nobody steps; it is the same for all processes of one boot."""
    return time.monotonic_ns() // 1_000_000


def inventory() -> dict[str, str]:
    """Return what the machine has."""
    system = os.uname()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpus": str(os.cpu_count() or ""),
        "memory_bytes": str(memory),
        "kernel": system.release,
        "architecture": system.machine,
    }


def _line(path: Path) -> str:
    try:
        return path.read_text().strip()[:64]
    except OSError:
        return ""  # a hint only
