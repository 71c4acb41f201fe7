"""The exporters that an agent looks for on its own node, and by what they are known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

AGENT_PREFIX = "vigie_agent_"  # an agent, this one or another, is no foreign exporter


class Exporter(NamedTuple):
    """What may run on a port of this node; its name is the job of its series."""

    name: str
    port: int
    signature: str  # how a line begins that only it has


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
            raise ValueError(f"{entry!r} should be NAME=PORT with one of these names: {known}")
        found.append(Exporter(name, int(port), SIGNATURES[name]))
    return found


def is_exporter(exporter: Exporter, text: str) -> bool:
    """Tell whether the exporter that is looked for says this."""
    lines = "\n" + text
    return f"\n{exporter.signature}" in lines and f"\n{AGENT_PREFIX}" not in lines
