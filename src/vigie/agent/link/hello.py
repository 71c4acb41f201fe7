"""Identity of the agent and its node."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import vigie
from vigie.agent.link.inventory import build_inventory, format_item
from vigie.wire.messages import PROTOCOL, Hello


class NodeDescription(NamedTuple):
    """Constant while the agent runs."""

    node: str
    cadence: float
    labels: Mapping[str, str]
    start: str
    boot_id: str
    machine_id: str
    listen: str = ""  # where another Prometheus could scrape this agent
    sysfs: Path = Path("/sys")

    def hello(self, address: str) -> Hello:
        """Build the first message, for a connection with this local address."""
        return Hello(
            PROTOCOL,
            self.node,
            self.start,
            version=vigie.__version__,
            host=socket.gethostname(),
            addresses=[address] if address else [],
            machine_id=self.machine_id,
            boot_id=self.boot_id,
            inventory=self.inventory(),
            labels=dict(self.labels),
            cadence=self.cadence,
            wall_ms=time.time_ns() // 1_000_000,
            uptime_ms=uptime_ms(),
            listen=self.listen,
        )

    def inventory(self) -> dict[str, str]:
        return build_inventory(self.sysfs)


def describe_node(node: str, cadence: float, labels: Mapping[str, str], listen: str = "") -> NodeDescription:
    """Read the identity of this agent, once at its start."""
    boot_id = format_item(Path("/proc/sys/kernel/random/boot_id"))
    machine_id = format_item(Path("/etc/machine-id"))
    return NodeDescription(node, cadence, labels, secrets.token_hex(8), boot_id, machine_id, listen)


def uptime_ms() -> int:
    """Return the monotonic clock. All processes of one boot share it."""
    return time.monotonic_ns() // 1_000_000
