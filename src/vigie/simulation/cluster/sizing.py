"""How large a simulated cluster is: how much history suits it, what that takes, and how often nodes speak."""

from __future__ import annotations

from typing import NamedTuple

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
STEP_MS = 15_000  # of the history
SERIES = 1_700  # of a node with eight GPUs
BYTES = 1.5  # that a sample takes on the disk, with some room

DEFAULT_HISTORY_MS = 6 * HOUR_MS
DEFAULT_NODES = 16  # for which the usual history is made in some seconds
SHORTEST_MS, LEAST_MS = MINUTE_MS, 15 * MINUTE_MS  # that may be asked for; that a large fleet has by itself
MAX_SAMPLES = 2_500_000_000

ROWS_AHEAD = 4096  # that are kept for all nodes together
AHEAD = 12  # frames of a node that are made at once


class TooLargeError(ValueError):
    """More than a demo should make; the message says what to type."""


class SendRate(NamedTuple):
    """How often a live node speaks, and how many of its frames are made at once."""

    seconds: float
    ahead: int


def default_history(nodes: int) -> int:
    """Return how many milliseconds of history so many nodes have when nobody asks for more.

    >>> usual_history(16) // MINUTE_MS, usual_history(100) // MINUTE_MS, usual_history(1000) // MINUTE_MS
    (360, 57, 15)
    """
    return max(min(DEFAULT_HISTORY_MS, DEFAULT_HISTORY_MS * DEFAULT_NODES // nodes), LEAST_MS)


def choose_rate(nodes: int) -> SendRate:
    """Return at which pace so many nodes can live in one process beside the server.

    >>> pace(16), pace(1000)
    (Pace(seconds=5.0, ahead=12), Pace(seconds=30.0, ahead=4))
    """
    seconds = 5.0 if nodes <= 64 else 15.0 if nodes <= 256 else 30.0
    return SendRate(seconds, max(1, min(AHEAD, ROWS_AHEAD // nodes)))


def check_size(nodes: int, history_ms: int, free_bytes: int) -> None:
    """Raise TooMuch for a history that is too long to make, or larger than the disk."""
    if history_ms < SHORTEST_MS:
        raise TooLargeError("--history should be at least 1m")
    most = min(MAX_SAMPLES, int(free_bytes / BYTES))
    samples = nodes * SERIES * (history_ms // STEP_MS)
    if samples <= most:
        return
    minutes = most // (nodes * SERIES) * STEP_MS // MINUTE_MS
    what = f"{nodes} nodes over {history_ms / HOUR_MS:,.6g} h are {samples / 1e9:,.3g} G samples"
    if most < MAX_SAMPLES:
        room = f"need about {samples * BYTES / 1e9:,.3g} GB where {free_bytes / 1e9:,.3g} GB are free"
        raise TooLargeError(
            f"{what} and {room}: {_suggest_shorter(minutes)}, or give another place with --data DIR"
        )
    raise TooLargeError(
        f"{what}, and a demo makes {MAX_SAMPLES / 1e9:g} at most: {_suggest_shorter(minutes)}"
    )


def _suggest_shorter(minutes: int) -> str:
    return f"type --history {minutes}m or less" if minutes else "take fewer --nodes"
