"""Bonding interfaces and their active links, from /sys/class/net."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    SLAVES := gauge("node_bonding_slaves", "Configured links of the bond.", "master"),
    ACTIVE := gauge("node_bonding_active", "Active links of the bond.", "master"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the links of every bond. The active count is absent if the state of a link is unknown."""
    masters = host.sys.read_text("class/net/bonding_masters")
    if not masters:
        raise Unavailable("no bonding interface")
    for master in _read_names(masters):
        slaves = host.sys.read_text(f"class/net/{master}/bonding/slaves")
        if slaves is None:
            continue
        states = [_is_up(host, master, slave) for slave in _read_names(slaves)]
        yield SLAVES, (master,), len(states)
        yield ACTIVE, (master,), None if None in states else states.count("up")


def _read_names(text: str) -> list[str]:
    return [name for name in text.split() if "\0" not in name]  # not allowed in a path


def _is_up(host: Host, master: str, slave: str) -> str | None:
    for prefix in ("lower", "slave"):  # kernels before 3.18 have only the latter
        path = f"class/net/{master}/{prefix}_{slave}/bonding_slave/mii_status"
        state = host.sys.read_text(path)
        if state is not None:
            return state
    host.note(f"/sys/class/net/{master} {slave}", "cannot read the state of this link")
    return None


SOURCE = Source("bonding", METRICS, read)
