"""Names of the commands a server may send to a node. Imports no WebSocket library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

PING = "ping"
GPUS_RELEASE, GPUS_TAKE = "gpus_release", "gpus_take"
REFUSABLE = (GPUS_RELEASE, GPUS_TAKE)

# Runs a command; returns whether it succeeded, and a message.
CommandHandler = Callable[[Mapping[str, Any]], Awaitable[tuple[bool, str]]]
