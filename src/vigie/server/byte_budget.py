"""Bounds in bytes that many connections share."""

from __future__ import annotations

import asyncio
from collections import deque

RESERVED = 4  # one part in so many is for small requests, so that large ones cannot lock them out


class BudgetExceededError(Exception):
    """There is no room at present."""


class ByteBudget:
    """Counts bytes in memory up to a total."""

    def __init__(self, total: int) -> None:
        self.total, self.used = total, 0

    def take(self, size: int, *, small: bool = True) -> None:
        """Count bytes, or raise BudgetExceededError; the last quarter is only for who needs little."""
        if self.used + size > (self.total if small else self.total - self.total // RESERVED):
            raise BudgetExceededError(f"more than {self.total >> 20} MB at once")
        self.used += size

    def give_back(self, size: int) -> None:
        self.used -= size


class ByteSemaphore:
    """Lets wait who finds no room, in order; something larger than the total has its turn alone."""

    def __init__(self, total: int) -> None:
        self._total, self._used = total, 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def acquire(self, size: int) -> None:
        if not self._waiting and self._fits(size):
            self._used += size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release(size)  # the turn came in the moment of leaving
            raise

    def release(self, size: int) -> None:
        self._used -= size
        while self._waiting and (self._waiting[0][1].cancelled() or self._fits(self._waiting[0][0])):
            wanted, turn = self._waiting.popleft()
            if not turn.cancelled():
                self._used += wanted
                turn.set_result(None)

    def _fits(self, size: int) -> bool:
        return not self._used or self._used + size <= self._total
