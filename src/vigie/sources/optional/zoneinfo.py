"""The kernel's zones of memory, their watermarks and pages, from /proc/zoneinfo."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vigie.model import Metric, Sample, counter, gauge
from vigie.sources._attributes import parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

ZONE = ("node", "zone")
PREFIX = "node_zoneinfo_"


def _pages(name: str, help: str) -> Metric:
    return gauge(f"{PREFIX}{name}_pages", help, *ZONE)


def _total(name: str, help: str) -> Metric:
    return counter(f"{PREFIX}{name}_total", help, *ZONE)


# By the word that begins the line. Those of the whole NUMA node stand with its first zone.
FIELDS = {
    "nr_free_pages": gauge(f"{PREFIX}nr_free_pages", "Free pages of the zone.", *ZONE),
    "min": _pages("min", "Watermark below which only urgent allocations succeed."),
    "low": _pages("low", "Watermark at which the kernel begins to reclaim."),
    "high": _pages("high", "Watermark at which the kernel stops reclaiming."),
    "scanned": _pages("scanned", "Pages scanned since the last reclaim, on old kernels."),
    "spanned": _pages("spanned", "Pages that the zone spans, holes included."),
    "present": _pages("present", "Physical pages of the zone."),
    "managed": _pages("managed", "Pages that the page allocator manages."),
    "nr_active_anon": _pages("nr_active_anon", "Pages of programs' own memory used lately."),
    "nr_inactive_anon": _pages("nr_inactive_anon", "Pages of programs' own memory not used lately."),
    "nr_isolated_anon": _pages("nr_isolated_anon", "Pages of programs' own memory being moved."),
    "nr_anon_pages": gauge(f"{PREFIX}nr_anon_pages", "Pages of programs' own memory.", *ZONE),
    "nr_anon_transparent_hugepages": gauge(
        f"{PREFIX}nr_anon_transparent_hugepages", "Huge pages of programs' own memory.", *ZONE
    ),
    "nr_active_file": _pages("nr_active_file", "Pages of cached files used lately."),
    "nr_inactive_file": _pages("nr_inactive_file", "Pages of cached files not used lately."),
    "nr_isolated_file": _pages("nr_isolated_file", "Pages of cached files being moved."),
    "nr_file_pages": gauge(f"{PREFIX}nr_file_pages", "Pages of cached files.", *ZONE),
    "nr_slab_reclaimable": _pages("nr_slab_reclaimable", "Pages of object caches that can be freed."),
    "nr_slab_unreclaimable": _pages("nr_slab_unreclaimable", "Pages of object caches that stay."),
    "nr_mlock_stack": _pages("nr_mlock_stack", "Pages locked by programs."),
    "nr_kernel_stack": gauge(f"{PREFIX}nr_kernel_stacks", "Kernel stacks, in kB.", *ZONE),
    "nr_mapped": _pages("nr_mapped", "Pages of files that programs have mapped."),
    "nr_dirty": _pages("nr_dirty", "Changed pages not yet being written."),
    "nr_writeback": _pages("nr_writeback", "Pages being written now."),
    "nr_unevictable": _pages("nr_unevictable", "Pages that cannot be reclaimed."),
    "nr_shmem": _pages("nr_shmem", "Pages of shared memory and tmpfs."),
    "nr_dirtied": _total("nr_dirtied", "Pages changed since boot."),
    "nr_written": _total("nr_written", "Pages written since boot."),
    "numa_hit": _total("numa_hit", "Pages taken from the node as wished."),
    "numa_miss": _total("numa_miss", "Pages taken here though wished elsewhere."),
    "numa_foreign": _total("numa_foreign", "Pages wished here but taken elsewhere."),
    "numa_interleave": _total("numa_interleave", "Pages spread by policy that landed here."),
    "numa_local": _total("numa_local", "Pages taken by the node's own cores."),
    "numa_other": _total("numa_other", "Pages taken by other nodes' cores."),
}
PROTECTION = gauge(f"{PREFIX}protection_*", "Pages kept from allocations that could also use zone *.", *ZONE)
METRICS = (*FIELDS.values(), PROTECTION)

HEADER = re.compile(r"^Node (\d+), zone\s+(\w+)$")
MOST_ZONES = 16
PROTECTIONS = [PROTECTION.expand(str(zone)) for zone in range(MOST_ZONES)]


def read(host: Host) -> Iterator[Sample]:
    """Yield every zone."""
    zone: tuple[str, ...] = ()
    for line in host.proc.read("zoneinfo").splitlines():
        header = HEADER.match(line)
        if header:
            zone = header.groups()
            continue
        name, *rest = line.split() or [""]
        if not zone or not (name in FIELDS or name == "protection:"):
            continue
        try:
            if name in FIELDS:
                yield FIELDS[name], zone, parse_counters(rest)[0]
            else:
                values = parse_counters([word.strip("(),") for word in rest])
                yield from ((metric, zone, value) for metric, value in zip(PROTECTIONS, values))
        except (ValueError, IndexError) as error:
            host.note(f"/proc/zoneinfo node {' zone '.join(zone)} {name}", error)


SOURCE = Source("zoneinfo", METRICS, read, default=False)
