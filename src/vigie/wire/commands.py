"""Names of the commands a server may send to a node. Imports no WebSocket library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

PING = "ping"
GPUS_RELEASE, GPUS_TAKE = "gpus_release", "gpus_take"
TRACE_TRAINERS, TRACE_START, TRACE_STATUS = "trace_trainers", "trace_start", "trace_status"
TRACE_READ, TRACE_CANCEL, TRACE_REMOVE = "trace_read", "trace_cancel", "trace_remove"
STACKS = "stacks"
REFUSABLE = (GPUS_RELEASE, GPUS_TAKE, TRACE_START, STACKS)


class CommandOutcome(NamedTuple):
    """Whether a command succeeded, a message for people, and data for the server."""

    is_done: bool
    text: str
    data: bytes = b""


CommandHandler = Callable[[Mapping[str, Any]], Awaitable[CommandOutcome]]
