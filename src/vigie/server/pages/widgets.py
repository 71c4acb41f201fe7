"""The parts that every page has: a verdict and a few numbers."""

from __future__ import annotations

from typing import Any

OK, WARNING, CRITICAL, UNKNOWN = "ok", "warning", "critical", "unknown"


def verdict(state: str, *sentences: str) -> dict[str, str]:
    """Return a verdict: what matters most, in words."""
    return {"state": state, "sentence": " ".join(sentence for sentence in sentences if sentence)}


def qualify(said: dict[str, str], why: str) -> dict[str, str]:
    """Return a verdict that says what it does not know; nothing is well as long as that is not known."""
    if not why:
        return said
    state = UNKNOWN if said["state"] == OK else said["state"]
    return verdict(state, said["sentence"], f"Not all is known yet: {why}.")


def number(
    key: str,
    label: str,
    value: float | None,
    unit: str = "count",
    *,
    of: float | None = None,
    state: str = OK,
    query: str = "",
    reason: str = "",
) -> dict[str, Any]:
    """Return one of the numbers at the head of a page; one that is absent has a reason."""
    if value is None:
        state, reason = UNKNOWN, reason or "nothing here tells"
    else:
        reason = ""
    return {
        "key": key,
        "label": label,
        "value": value,
        "of": of,
        "unit": unit,
        "state": state,
        "query": query,
        "reason": reason,
    }
