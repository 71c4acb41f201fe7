"""Energy of packages, cores and memory (RAPL), from /sys/class/powercap."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, counter
from vigie.sources._attributes import AttributeFamily, read_measure
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    ENERGY := counter(
        "node_rapl_*_joules_total",
        "Energy used by zone *. Restarts at 0 when it overflows.",
        "index",
        "path",
    ),
)
ZONES = AttributeFamily(ENERGY)

CLASS = "class/powercap"
Zone = tuple[Metric, tuple[str, str], str]  # path of its energy file


def read(host: Host) -> Iterator[Sample]:
    names = host.sys.list_directory(CLASS)
    if host.cache.get("names") != names:
        host.cache["names"], host.cache["zones"] = names, _find_zones(host, names)
    zones: list[Zone] = host.cache["zones"]
    if not zones:
        raise Unavailable("no RAPL zones")
    samples = [(metric, labels, read_measure(host, path, 1_000_000, 0)) for metric, labels, path in zones]
    if all(value is None for _, _, value in samples):
        if "Permission denied" in host.notes.values():
            raise Unavailable(f"/sys/{zones[0][2]} is readable only by root")
        raise Unavailable("no RAPL zones")
    yield from samples


def _find_zones(host: Host, names: list[str]) -> list[Zone]:
    zones: list[Zone] = []
    used: dict[str, int] = {}
    for directory in names:
        path = f"{CLASS}/{directory}"
        name = host.sys.read_text(f"{path}/name")
        if not name:
            continue
        # Package numbers are part of the name, as in package-0. Others are numbered here.
        head, _, number = name.partition("-")
        if number.isdecimal():
            name, index = head, int(number)
        else:
            index = used.get(name, 0)
        used[name] = index + 1
        metric = ZONES[name]
        if metric is not None:
            labels = (str(index), to_printable(f"{host.sys.top}/{path}"))
            zones.append((metric, labels, f"{path}/energy_uj"))
    return zones


SOURCE = Source("rapl", METRICS, read)
