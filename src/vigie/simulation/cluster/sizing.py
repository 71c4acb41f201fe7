"""Size of a simulated cluster: default history, its cost, and the send interval."""

from __future__ import annotations

from typing import NamedTuple

HOUR_MS, MINUTE_MS = 3_600_000, 60_000
STEP_MS = 15_000  # of the history
SERIES = 1_700  # of a node with eight GPUs
BYTES = 1.5  # per sample on disk, with a margin

DEFAULT_HISTORY_MS = 6 * HOUR_MS
DEFAULT_NODES = 16  # for which the default history takes some seconds
SHORTEST_MS, LEAST_MS = (
    MINUTE_MS,
    15 * MINUTE_MS,
)  # maximum on request; maximum by default for a large cluster
MAX_SAMPLES = 2_500_000_000

ROWS_AHEAD = 4096  # buffered for all nodes together
AHEAD = 12  # frames of a node built at once


class TooLargeError(ValueError):
    """Too large for a demo; the message suggests options."""


class SendRate(NamedTuple):
    """How often a live node sends, and how many frames are built at once."""

    seconds: float
    ahead: int


def default_history(nodes: int) -> int:
    """Return the default history in milliseconds.

    >>> [default_history(nodes) // MINUTE_MS for nodes in (16, 100, 1000)]
    [360, 57, 15]
    """
    return max(min(DEFAULT_HISTORY_MS, DEFAULT_HISTORY_MS * DEFAULT_NODES // nodes), LEAST_MS)


def choose_rate(nodes: int) -> SendRate:
    """Return the rate at which so many nodes can run in the server's process.

    >>> choose_rate(16), choose_rate(1000)
    (SendRate(seconds=5.0, ahead=12), SendRate(seconds=30.0, ahead=4))
    """
    seconds = 5.0 if nodes <= 64 else 15.0 if nodes <= 256 else 30.0
    return SendRate(seconds, max(1, min(AHEAD, ROWS_AHEAD // nodes)))


def check_size(nodes: int, history_ms: int, free_bytes: int) -> None:
    """Raise TooLargeError for a history that takes too long or exceeds the disk."""
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
            f"{what} and {room}: {_suggest_shorter(minutes)}, or choose another directory with --data DIR"
        )
    raise TooLargeError(f"{what}, the limit is {MAX_SAMPLES / 1e9:g}: {_suggest_shorter(minutes)}")


def _suggest_shorter(minutes: int) -> str:
    return f"use --history {minutes}m or less" if minutes else "use fewer --nodes"
