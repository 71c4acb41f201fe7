"""SELinux state, from /sys/fs/selinux and /etc/selinux/config."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import parse_number

METRICS = (
    ENABLED := gauge("node_selinux_enabled", "1 if SELinux is enabled, 0 otherwise."),
    CONFIGURED := gauge(
        "node_selinux_config_mode", "Configured mode: 1 enforcing, 0 permissive, -1 disabled."
    ),
    CURRENT := gauge("node_selinux_current_mode", "Current mode: 1 enforcing, 0 permissive."),
)

MODES = {"enforcing": 1, "permissive": 0, "disabled": -1}


def read(host: Host) -> Iterator[Sample]:
    """Yield the state, and the modes if SELinux is enabled. Without a policy it is disabled."""
    try:
        mode = host.sys.read("fs/selinux/enforce")
    except FileNotFoundError:
        mode = ""
    if not mode or (host.proc.read_text("self/attr/current") or "").rstrip("\0") == "kernel":
        yield ENABLED, (), 0
        return
    yield ENABLED, (), 1
    yield CONFIGURED, (), _read_configured(host)
    yield CURRENT, (), parse_number(mode)


def _read_configured(host: Host) -> int | None:
    for line in (host.root.read_text("etc/selinux/config") or "").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "SELINUX":
            return MODES.get(value.strip().strip('"').lower())
    return None


SOURCE = Source("selinux", METRICS, read, every=60)
