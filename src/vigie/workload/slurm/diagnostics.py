"""What the scheduler says of itself, from the text of `sdiag`."""

from __future__ import annotations

from collections.abc import Iterable

# By section: how a line begins, and which figure it holds.
_ROWS = {
    "": {
        "Server thread count": "threads",
        "Agent queue size": "queue_size",
        "DBD Agent queue size": "dbd_queue_size",
    },
    "Main schedule statistics": {
        "Last cycle": "last_cycle",
        "Mean cycle": "mean_cycle",
        "Cycles per minute": "cycle_per_minute",
    },
    "Backfilling stats": {
        "Total backfilled jobs (since last slurm start)": "backfilled_jobs_since_start_total",
        "Total backfilled jobs (since last stats cycle start)": "backfilled_jobs_since_cycle_total",
        "Total backfilled heterogeneous job components": "backfilled_heterogeneous_total",
        "Last cycle": "backfill_last_cycle",
        "Mean cycle": "backfill_mean_cycle",
        "Depth Mean": "backfill_depth_mean",
    },
}


def parse_diagnostics(lines: Iterable[str]) -> dict[str, int]:
    """Return the figures by name; those that this version does not print are left out."""
    found: dict[str, int] = {}
    section = ""
    for line in lines:
        if line[:1].isalpha() and _names_section(line):
            section = line.strip().partition(" (")[0].rstrip(":")
        name, _, value = line.strip().partition(":")
        figure = _ROWS.get(section, {}).get(name)
        if figure and figure not in found and value.strip().isdecimal():
            found[figure] = int(value)
    return found


def _names_section(line: str) -> bool:
    """Tell whether a line at the margin names a section: it says nothing behind its colon.

    >>> _names_section("Backfill exit"), _names_section("Jobs failed:    0")
    (True, False)
    """
    return not line.partition(":")[2].strip()
