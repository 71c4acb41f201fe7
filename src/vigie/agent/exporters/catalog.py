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
    path: str = "/metrics"
    serves: bool = False  # an inference server: a node may run several of a kind


class KnownExporter(NamedTuple):
    """How an exporter is recognized, and its default port."""

    signature: str
    port: int
    path: str = "/metrics"
    serves: bool = False


KNOWN = {
    "node-exporter": KnownExporter("node_exporter_build_info", 9100),
    "dcgm-exporter": KnownExporter("DCGM_FI_", 9400),
    "cadvisor": KnownExporter("cadvisor_version_info", 8080),
    "triton": KnownExporter("nv_", 8002, serves=True),
    "vllm": KnownExporter("vllm:", 8000, serves=True),
    "sglang": KnownExporter("sglang:", 30000, serves=True),
    "tgi": KnownExporter("tgi_", 3000, serves=True),
    "trtllm": KnownExporter("trtllm_", 8000, "/prometheus/metrics", serves=True),
    "nim": KnownExporter("gpu_cache_usage_perc", 8000, "/v1/metrics", serves=True),
    "dynamo": KnownExporter("dynamo_frontend_", 8000, serves=True),
}
DEFAULT_EXPORTERS = [f"{name}={known.port}" for name, known in KNOWN.items()]


def parse_exporters(entries: Iterable[str]) -> list[Exporter]:
    """Return the exporters of entries such as node-exporter=9100, or raise ValueError."""
    found: list[Exporter] = []
    for entry in entries:
        name, _, port = entry.partition("=")
        if name not in KNOWN or not port.isascii() or not port.isdecimal() or not 0 < int(port) < 65536:
            names = ", ".join(KNOWN)
            raise ValueError(f"invalid exporter {entry!r}: use NAME=PORT with one of {names}")
        known = KNOWN[name]
        if not known.serves and any(other.name == name for other in found):
            raise ValueError(f"duplicate exporter {name!r}: only inference servers may be listed twice")
        found.append(Exporter(name, int(port), known.signature, known.path, known.serves))
    return found


def is_exporter(exporter: Exporter, text: str) -> bool:
    lines = "\n" + text
    return f"\n{exporter.signature}" in lines and f"\n{AGENT_PREFIX}" not in lines
