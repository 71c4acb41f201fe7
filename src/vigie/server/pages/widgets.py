"""The parts that every page has: a verdict and a few numbers."""

from __future__ import annotations

from vigie.wire.api.rows import Stat, State, Verdict

OK: State = "ok"
WARNING: State = "warning"
CRITICAL: State = "critical"
UNKNOWN: State = "unknown"


def build_verdict(state: State, *sentences: str) -> Verdict:
    return Verdict(state, " ".join(sentence for sentence in sentences if sentence))


def qualify(verdict: Verdict, why: str) -> Verdict:
    """Return a verdict that says what it does not know; nothing is well as long as that is not known."""
    if not why:
        return verdict
    state = UNKNOWN if verdict.state == OK else verdict.state
    return build_verdict(state, verdict.sentence, f"Not all is known yet: {why}.")


def build_stat(
    key: str,
    label: str,
    value: float | None,
    unit: str = "count",
    *,
    of: float | None = None,
    state: State = OK,
    query: str = "",
    reason: str = "",
) -> Stat:
    """Return one of the numbers at the head of a page; one that is absent has a reason."""
    if value is None:
        state, reason = UNKNOWN, reason or "nothing here tells"
    else:
        reason = ""
    return Stat(key, label, value, of, unit, state, query, reason)
