"""Interrupts, context switches, forks, boot time and runnable tasks, from /proc/stat."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption

METRICS = (
    INTERRUPTS := counter("node_intr_total", "Interrupts served since boot."),
    SWITCHES := counter("node_context_switches_total", "Times a core went from one task to another."),
    FORKS := counter("node_forks_total", "Processes and threads started since boot."),
    BOOT := gauge("node_boot_time_seconds", "When the machine booted, in Unix time."),
    RUNNING := gauge("node_procs_running", "Tasks that run now or wait for a core."),
    BLOCKED := gauge("node_procs_blocked", "Tasks that wait for input or output to end."),
    SOFTIRQS := counter("node_softirqs_total", "Soft interrupts served since boot, by kind.", "vector"),
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
    """Yield what stands after the rows of the cores."""
    text = host.proc.read("stat")
    for line in text[text.rfind("\ncpu") + 1 :].splitlines():
        name, _, rest = line.partition(" ")
        try:
            if name in FIELDS:
                # The line of interrupts goes on with thousands of numbers, one for each source of them.
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
    options=(SourceOption("softirq", "off", "on: also count soft interrupts by kind"),),
)
