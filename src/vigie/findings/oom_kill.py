"""The kernel ran out of memory and killed a process."""

from __future__ import annotations

from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    name="oom-kill",
    title="killed for want of memory",
    severity=WARNING,
    what="Memory ran out on {node}, and the kernel killed {process}{hurt}.",
    was="Memory ran out on {node}, and the kernel killed {process}{hurt}.",
    do="Give the job more memory, or find what leaks; the job may have to be started again.",
    when="max by (instance) (increase(node_vmstat_oom_kill[10m])) > 0",
    events=("oom_kill",),
    lasts=False,
    tail_ms=10 * MINUTE_MS,
    chip="out of memory",
)
