"""A file system is nearly full."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    name="disk-full",
    title="file system full",
    severity=WARNING,
    what="The file system {mountpoint} of {node} is full but for {value}.",
    do="Make room on {mountpoint} of {node}; jobs that write there fail.",
    when="""max by (instance, mountpoint) (
    node_filesystem_avail_bytes{fstype!~"tmpfs|ramfs|squashfs|iso9660|overlay"}
    / node_filesystem_size_bytes < 0.03 and node_filesystem_readonly == 0)""",
    unit="ratio",
)
