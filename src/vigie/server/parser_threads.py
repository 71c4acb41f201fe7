"""Parsing off the event loop: a large request costs a thread's time, and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

SMALL_BYTES = 8 << 10  # what takes a millisecond at most is parsed in place
# Two, because they share one interpreter with the event loop: more would only slow it down.
_threads = ThreadPoolExecutor(2, thread_name_prefix="parser")
P = ParamSpec("P")
T = TypeVar("T")


async def parse(size: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a call whose cost grows with so many bytes."""
    if size <= SMALL_BYTES:
        return call(*args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: call(*args, **kwargs))
