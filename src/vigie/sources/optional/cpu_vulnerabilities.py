"""Known flaws of the processor and what the kernel does about each, from sysfs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, info
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.core.tree import to_printable

METRICS = (
    INFO := info(
        "node_cpu_vulnerabilities_info",
        "Whether the processor has a known flaw, and what the kernel does about it.",
        *("codename", "state", "mitigation"),
    ),
)

TOP = "devices/system/cpu/vulnerabilities"
# How the text of a file begins, and the state that it stands for.
STATES = (
    ("Not affected", "not affected"),
    ("Vulnerable", "vulnerable"),
    ("Mitigation", "mitigation"),
    ("Unknown", "unknown"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield each flaw."""
    for name in host.sys.list_directory(TOP):
        text = host.sys.read_text(f"{TOP}/{name}")
        if text is None:
            continue
        text = to_printable(text).replace("KVM: ", "", 1)  # of one that only guests could use
        for begin, state in STATES:
            if text.startswith(begin):
                yield INFO, (to_printable(name), state, text[len(begin) :].lstrip(": ")), 1
                break
        else:
            host.note(f"/sys/{TOP}/{name}", f"an unknown state: {text[:32]!r}")


SOURCE = Source("cpu_vulnerabilities", METRICS, read, every=60, default=False)
