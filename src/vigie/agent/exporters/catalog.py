"""Exporters that the agent looks for, and how it recognizes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

AGENT_PREFIX = "vigie_agent_"  # an agent is not an exporter to relay


class Exporter(NamedTuple):
    """An exporter that may listen on a port. Its name is the job label of its series."""

    name: str
    port: int
    signature: str  # start of a line that only this exporter has


SIGNATURES = {
    "node-exporter": "node_exporter_build_info",
    "dcgm-exporter": "DCGM_FI_",
    "cadvisor": "cadvisor_version_info",
    "triton": "nv_",
}
DEFAULT_EXPORTERS = ["node-exporter=9100", "dcgm-exporter=9400", "cadvisor=8080", "triton=8002"]


def parse_exporters(entries: Iterable[str]) -> list[Exporter]:
    """Return the exporters of entries such as node-exporter=9100, or raise ValueError."""
    found = []
    for entry in entries:
        name, _, port = entry.partition("=")
        if name not in SIGNATURES or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
            known = ", ".join(SIGNATURES)
            raise ValueError(f"invalid exporter {entry!r}: use NAME=PORT with one of {known}")
        found.append(Exporter(name, int(port), SIGNATURES[name]))
    return found


def is_exporter(exporter: Exporter, text: str) -> bool:
    lines = "\n" + text
    return f"\n{exporter.signature}" in lines and f"\n{AGENT_PREFIX}" not in lines
