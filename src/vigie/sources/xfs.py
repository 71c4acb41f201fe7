"""Allocations, lookups and reads of XFS file systems, from /sys/fs/xfs/*/stats/stats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from vigie.model import Metric, Sample, counter
from vigie.sources._attributes import unsigned
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable


def _counter(name: str, help: str) -> Metric:
    return counter(f"node_xfs_{name}_total", help, "device")


def _btree(name: str, what: str) -> tuple[Metric, ...]:
    return (
        _counter(f"{name}_btree_lookups", f"Lookups in the tree of {what}."),
        _counter(f"{name}_btree_compares", f"Records compared in the tree of {what}."),
        _counter(f"{name}_btree_records_inserted", f"Records put into the tree of {what}."),
        _counter(f"{name}_btree_records_deleted", f"Records taken out of the tree of {what}."),
    )


# By the first word of the line, in the order of its columns.
LINES = {
    "extent_alloc": (
        _counter("extent_allocation_extents_allocated", "Extents handed out."),
        _counter("extent_allocation_blocks_allocated", "Blocks handed out."),
        _counter("extent_allocation_extents_freed", "Extents given back."),
        _counter("extent_allocation_blocks_freed", "Blocks given back."),
    ),
    "abt": _btree("allocation", "free space"),
    "blk_map": (
        _counter("block_mapping_reads", "Times a file's blocks were looked up in order to read."),
        _counter("block_mapping_writes", "Times a file's blocks were looked up in order to write."),
        _counter("block_mapping_unmaps", "Times blocks were taken from a file."),
        _counter("block_mapping_extent_list_insertions", "Extents added to the lists of files."),
        _counter("block_mapping_extent_list_deletions", "Extents removed from the lists of files."),
        _counter("block_mapping_extent_list_lookups", "Searches of the lists of files."),
        _counter("block_mapping_extent_list_compares", "Extents compared while searching those lists."),
    ),
    "bmbt": _btree("block_map", "the blocks of large files"),
    "dir": (
        _counter("directory_operation_lookup", "Names looked up that the kernel's cache did not have."),
        _counter("directory_operation_create", "Entries made in directories."),
        _counter("directory_operation_remove", "Entries removed from directories."),
        _counter("directory_operation_getdents", "Times a directory was listed."),
    ),
    "ig": (
        _counter("inode_operation_attempts", "Times an inode was looked for in the cache."),
        _counter("inode_operation_found", "Times it was there."),
        _counter("inode_operation_recycled", "Times it was there but about to be dropped."),
        _counter("inode_operation_missed", "Times it was not there and had to be read."),
        _counter("inode_operation_duplicates", "Times another task had just put it there."),
        _counter("inode_operation_reclaims", "Inodes dropped from the cache to make room."),
        _counter("inode_operation_attribute_changes", "Times an inode's attributes were changed."),
    ),
    "rw": (
        _counter("write_calls", "Calls of write(2) and its like on the file system."),
        _counter("read_calls", "Calls of read(2) and its like on the file system."),
    ),
    "vnodes": (
        _counter("vnode_active", "Inodes in use by the kernel."),
        _counter("vnode_allocate", "Times the kernel made room for an inode."),
        _counter("vnode_get", "Times the kernel took hold of an inode by number."),
        _counter("vnode_hold", "Times the kernel took hold of an inode once more."),
        _counter("vnode_release", "Times the kernel let go of an inode."),
        _counter("vnode_reclaim", "Times an inode without users was taken back."),
        _counter("vnode_remove", "Times an inode was dropped altogether."),
    ),
}
METRICS = tuple(metric for metrics in LINES.values() for metric in metrics)

TOP = "fs/xfs"


def read(host: Host) -> Iterator[Sample]:
    """Yield the counters of every XFS file system."""
    devices = [name for name in host.sys.list_directory(TOP) if name != "stats"]  # which is the sum of all
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
                    yield from zip(metrics, repeat(labels), unsigned(numbers.split()[: len(metrics)]))
                except ValueError as error:
                    host.note(f"/sys/{TOP}/{device}/stats/stats {name}", error)


SOURCE = Source("xfs", METRICS, read)
