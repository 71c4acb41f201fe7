"""XFS statistics, from /sys/fs/xfs/*/stats/stats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from vigie.model import Metric, Sample, counter
from vigie.sources._attributes import parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable


def _counter(name: str, help: str) -> Metric:
    return counter(f"node_xfs_{name}_total", help, "device")


def _btree(name: str, what: str) -> tuple[Metric, ...]:
    return (
        _counter(f"{name}_btree_lookups", f"Lookups in the {what} B-tree."),
        _counter(f"{name}_btree_compares", f"Comparisons in the {what} B-tree."),
        _counter(f"{name}_btree_records_inserted", f"Insertions into the {what} B-tree."),
        _counter(f"{name}_btree_records_deleted", f"Deletions from the {what} B-tree."),
    )


# By the first word of a line, in column order.
LINES = {
    "extent_alloc": (
        _counter("extent_allocation_extents_allocated", "Extents allocated."),
        _counter("extent_allocation_blocks_allocated", "Blocks allocated."),
        _counter("extent_allocation_extents_freed", "Extents freed."),
        _counter("extent_allocation_blocks_freed", "Blocks freed."),
    ),
    "abt": _btree("allocation", "allocation"),
    "blk_map": (
        _counter("block_mapping_reads", "Block map lookups for reads."),
        _counter("block_mapping_writes", "Block map lookups for writes."),
        _counter("block_mapping_unmaps", "Block unmap operations."),
        _counter("block_mapping_extent_list_insertions", "Extents inserted into extent lists."),
        _counter("block_mapping_extent_list_deletions", "Extents deleted from extent lists."),
        _counter("block_mapping_extent_list_lookups", "Extent list lookups."),
        _counter("block_mapping_extent_list_compares", "Extent list comparisons."),
    ),
    "bmbt": _btree("block_map", "block map"),
    "dir": (
        _counter("directory_operation_lookup", "Directory lookups not found in the dentry cache."),
        _counter("directory_operation_create", "Directory entries created."),
        _counter("directory_operation_remove", "Directory entries removed."),
        _counter("directory_operation_getdents", "Directory reads."),
    ),
    "ig": (
        _counter("inode_operation_attempts", "Inode cache lookups."),
        _counter("inode_operation_found", "Inode cache hits."),
        _counter("inode_operation_recycled", "Inode cache hits on an inode being reclaimed."),
        _counter("inode_operation_missed", "Inode cache misses."),
        _counter("inode_operation_duplicates", "Inode cache insertions lost to another task."),
        _counter("inode_operation_reclaims", "Inodes reclaimed from the cache."),
        _counter("inode_operation_attribute_changes", "Inode attribute changes."),
    ),
    "rw": (
        _counter("write_calls", "Write calls."),
        _counter("read_calls", "Read calls."),
    ),
    "vnodes": (
        _counter("vnode_active", "Active vnodes."),
        _counter("vnode_allocate", "Vnode allocations."),
        _counter("vnode_get", "Calls of vn_get."),
        _counter("vnode_hold", "Calls of vn_hold."),
        _counter("vnode_release", "Calls of vn_rele."),
        _counter("vnode_reclaim", "Vnode reclaims."),
        _counter("vnode_remove", "Vnode removals."),
    ),
}
METRICS = tuple(metric for metrics in LINES.values() for metric in metrics)

TOP = "fs/xfs"


def read(host: Host) -> Iterator[Sample]:
    """Yield the counters of every XFS file system."""
    devices = [name for name in host.sys.list_directory(TOP) if name != "stats"]  # the sum of all
    if not devices:
        raise Unavailable("no XFS file system is mounted")
    for device in devices:
        text = host.sys.read_text(f"{TOP}/{device}/stats/stats") or ""
        labels = (to_printable(device),)
        for line in text.splitlines():
            name, _, numbers = line.partition(" ")
            if name in LINES:
                metrics = LINES[name]
                try:
                    yield from zip(metrics, repeat(labels), parse_counters(numbers.split()[: len(metrics)]))
                except ValueError as error:
                    host.note(f"/sys/{TOP}/{device}/stats/stats {name}", error)


SOURCE = Source("xfs", METRICS, read)
