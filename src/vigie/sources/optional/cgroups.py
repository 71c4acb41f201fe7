"""How many cgroups each controller has, from /proc/cgroups."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources._attributes import parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import to_printable

METRICS = (
    CGROUPS := gauge("node_cgroups_cgroups", "Cgroups of the controller.", "subsys_name"),
    ENABLED := gauge("node_cgroups_enabled", "1 for a controller that is enabled.", "subsys_name"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield each controller."""
    for line in host.proc.read("cgroups").splitlines():
        if line.startswith("#"):
            continue
        name, *words = line.split() or [""]
        try:
            _hierarchy, cgroups, enabled = parse_counters(words)
        except ValueError as error:
            host.note(f"/proc/cgroups {name}", error)
            continue
        yield CGROUPS, (to_printable(name),), cgroups
        yield ENABLED, (to_printable(name),), enabled


SOURCE = Source("cgroups", METRICS, read, default=False)
