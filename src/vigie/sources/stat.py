"""Interrupts, context switches, forks, boot time and task counts, from /proc/stat."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption

METRICS = (
    INTERRUPTS := counter("node_intr_total", "Interrupts handled since boot."),
    SWITCHES := counter("node_context_switches_total", "Context switches since boot."),
    FORKS := counter("node_forks_total", "Processes and threads created since boot."),
    BOOT := gauge("node_boot_time_seconds", "Unix time of boot."),
    RUNNING := gauge("node_procs_running", "Runnable tasks."),
    BLOCKED := gauge("node_procs_blocked", "Tasks blocked on I/O."),
    SOFTIRQS := counter("node_softirqs_total", "Soft interrupts since boot, by kind.", "vector"),
)

FIELDS = {
    "intr": INTERRUPTS,
    "ctxt": SWITCHES,
    "processes": FORKS,
    "btime": BOOT,
    "procs_running": RUNNING,
    "procs_blocked": BLOCKED,
}
VECTORS = (
    ("hi",),
    ("timer",),
    ("net_tx",),
    ("net_rx",),
    ("block",),
    ("block_iopoll",),
    ("tasklet",),
    ("sched",),
    ("hrtimer",),
    ("rcu",),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the fields after the CPU lines."""
    text = host.proc.read("stat")
    for line in text[text.rfind("\ncpu") + 1 :].splitlines():
        name, _, rest = line.partition(" ")
        try:
            if name in FIELDS:
                # The interrupt line has thousands of numbers, one per interrupt.
                yield FIELDS[name], (), int(rest.partition(" ")[0])
            elif name == "softirq" and host.options.get("softirq") == "on":
                counts = [int(word) for word in rest.split()]
                for vector, count in zip(VECTORS, counts[1:]):
                    yield SOFTIRQS, vector, count
        except ValueError as error:
            host.note(f"/proc/stat {name}", error)


SOURCE = Source(
    "stat",
    METRICS,
    read,
    options=(SourceOption("softirq", "off", "on: also collect soft interrupts by kind"),),
)
