"""Nothing is heard of a node."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, MINUTE_MS, Finding

FINDING = Finding(
    name="node-lost",
    title="node lost",
    severity=CRITICAL,
    what="{node} is lost: nothing is heard of it{hurt}.",
    was="{node} was lost for {lasted} and is back{hurt}.",
    do="See whether {node} answers (ping, console, BMC) and restart it; if it is up, look at its agent: "
    "`systemctl status vigie-agent`.",
    after="See why: `journalctl -b -1 -e` on {node} tells how it ended, if it was restarted.",
    # A node that is late for a moment is not lost.
    when='max_over_time(up{job="node"}[2m]) == 0',
    lag_ms=2 * MINUTE_MS,
    events=("node_lost",),
    explains=(
        "gpu-lost", "xid", "ib-link-down", "ib-link-flap", "nvlink-down", "node-drained", "data-starved",
        "cpu-crowded", "rank-hung", "idle-holder", "finished-holding", "never-started", "memory-leak",
        "oom-kill", "source-failing",
    ),
    chip="node lost",
    node_wide=True,
    unheard=True,
)  # fmt: skip
