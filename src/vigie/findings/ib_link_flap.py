"""A port of InfiniBand goes down and up again and again."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, MINUTE_MS, Finding

FINDING = Finding(
    name="ib-link-flap",
    title="InfiniBand link flaps",
    severity=CRITICAL,
    what="The InfiniBand link {device} of {node} flaps: it went down again and again{hurt}.",
    was="The InfiniBand link {device} of {node} flapped: it went down again and again{hurt}.",
    do="Replace the cable of {device} on {node}; if it goes on, the port at the switch.",
    when="max by (instance, device, port) (changes(node_infiniband_link_downed_total[10m])) >= 2",
    lag_ms=2 * MINUTE_MS,
    tail_ms=7 * MINUTE_MS,
    explains=("ib-link-down", "ib-errors"),
    chip="link flaps",
)
