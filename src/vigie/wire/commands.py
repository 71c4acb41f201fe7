"""The names of what a server may ask of a node; who only needs these needs no WebSocket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

PING = "ping"
GPUS_RELEASE, GPUS_TAKE = "gpus_release", "gpus_take"
REFUSABLE = (GPUS_RELEASE, GPUS_TAKE)

# What is done when it is asked for; it returns whether that was done, and what is to be said.
CommandHandler = Callable[[Mapping[str, Any]], Awaitable[tuple[bool, str]]]
