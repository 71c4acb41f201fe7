"""NVIDIA's driver reported an error (XID) that is no mere note."""

from __future__ import annotations

from vigie.findings.core.finding import HOUR_MS, WARNING, Finding

FINDING = Finding(
    name="xid",
    title="driver error (XID)",
    severity=WARNING,
    what="{node}:{gpu} reported {told}{hurt}.",
    was="{node}:{gpu} reported {told}{hurt}.",
    do="See what NVIDIA advises for this XID; if it comes again, drain {node} and reset the GPU.",
    events=("xid",),
    lasts=False,
    fresh_ms=HOUR_MS,
    chip="XID",
)
