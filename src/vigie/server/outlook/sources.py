"""How the sources of a node went: from what its agent says of itself with each frame."""

from __future__ import annotations

from typing import Any

from vigie.server.outlook.asking import Ask, Found

STALE_SECONDS = 300.0
ORDER = ("error", "stale", "ok", "unavailable")
AGENTS = 'job="node"'  # a node exporter beside one tells the same of its own
WITHOUT = "there is nothing of this kind on this machine"


def source_asks(here: str) -> dict[str, Ask]:
    """Return what has to be asked; `here` is a matcher of the node."""
    return {
        "success": Ask(f"node_scrape_collector_success{{{here}, {AGENTS}}}", ("collector",)),
        "duration": Ask(f"node_scrape_collector_duration_seconds{{{here}, {AGENTS}}}", ("collector",)),
        "age": Ask(f"vigie_agent_source_age_seconds{{{here}}}", ("source",)),
        "outcome": Ask(f"vigie_agent_source_info{{{here}}}", ("source", "state", "reason")),
    }


def sources(found: Found) -> list[dict[str, Any]]:
    """Return each source, its state with the reason, and what its last read cost; trouble first."""
    why = {row.labels[0]: (row.labels[1], row.labels[2]) for row in found.rows.get("outcome", ())}
    seconds, age = found.numbers("duration"), found.numbers("age")
    rows = []
    for (name,), good in found.numbers("success").items():
        state, reason = _state(bool(good), why.get(name), age.get((name,)))
        rows.append({"source": name, "state": state, "reason": reason, "seconds": seconds.get((name,))})
    return sorted(rows, key=lambda row: (ORDER.index(str(row["state"])), str(row["source"])))


def _state(good: bool, said: tuple[str, str] | None, age: float | None) -> tuple[str, str]:
    if said and not good:
        return ("unavailable" if said[0] == "unavailable" else "error"), said[1]
    if not good:
        return "unavailable", WITHOUT
    if age is not None and age > STALE_SECONDS:
        return "stale", f"last read {age:.0f} s ago"
    return "ok", ""
