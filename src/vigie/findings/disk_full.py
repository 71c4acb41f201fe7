"""A file system is nearly full."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    title="File system nearly full",
    severity=WARNING,
    summary="{mountpoint} on {node} has {value} free.",
    action="Free space before writes fail.",
    query="""max by (instance, mountpoint) (
    node_filesystem_avail_bytes{fstype!~"tmpfs|ramfs|squashfs|iso9660|overlay"}
    / node_filesystem_size_bytes < 0.03 and node_filesystem_readonly == 0)""",
    unit="ratio",
    alert_after="10m",
)
