"""The kernel's caches of objects, from /proc/slabinfo, which only root may read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from vigie.model import Sample, gauge
from vigie.sources._attributes import compile_option, parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, check_regex
from vigie.sources.core.tree import to_printable

# The columns after the name, in the kernel's order.
METRICS = (
    gauge("node_slabinfo_active_objects", "Objects of the cache that are in use.", "slab"),
    gauge("node_slabinfo_objects", "Objects of the cache, used or not.", "slab"),
    gauge("node_slabinfo_object_size_bytes", "Bytes of one object.", "slab"),
    gauge("node_slabinfo_objects_per_slab", "Objects in one slab.", "slab"),
    gauge("node_slabinfo_pages_per_slab", "Pages of one slab.", "slab"),
)
HEADERS = ("slabinfo - version: ", "# name ")

INCLUDE = SourceOption(
    "include", ".*", "Caches to report, as a regular expression. Default: all.", check_regex
)


def read(host: Host) -> Iterator[Sample]:
    """Yield each cache."""
    wanted = compile_option(host, INCLUDE)
    for line in host.proc.read("slabinfo").splitlines():
        if line.startswith(HEADERS):
            continue
        name, *words = line.split(None, 6) or [""]
        if not wanted.search(name):
            continue
        try:
            values = parse_counters(words[: len(METRICS)])
            if len(values) < len(METRICS):
                raise ValueError("the line is cut short")
        except ValueError as error:
            host.note(f"/proc/slabinfo {name}", error)
            continue
        yield from zip(METRICS, repeat((to_printable(name),)), values)


SOURCE = Source("slabinfo", METRICS, read, slow=True, default=False, options=(INCLUDE,))
