"""What many share is bounded in bytes, and waiting for it is fair."""

from __future__ import annotations

import asyncio

import pytest

from vigie.server.byte_budget import BudgetExceededError, ByteBudget, ByteSemaphore


def test_large_requests_leave_room_for_small_ones() -> None:
    budget = ByteBudget(1000)
    budget.take(750, small=False)
    with pytest.raises(BudgetExceededError):
        budget.take(1, small=False)
    budget.take(250)
    with pytest.raises(BudgetExceededError):
        budget.take(1)
    budget.give_back(1000)
    budget.take(750, small=False)


def test_semaphore_lets_in_by_turns_and_what_is_larger_than_all_alone() -> None:
    async def test() -> None:
        room, order = ByteSemaphore(100), list[int]()

        async def enter(size: int) -> None:
            await room.acquire(size)
            order.append(size)

        await enter(60)
        waiting = [asyncio.ensure_future(enter(size)) for size in (500, 30)]
        await asyncio.sleep(0)
        assert order == [60]
        room.release(60)
        await waiting[0]
        assert order == [60, 500]
        room.release(500)
        await waiting[1]
        assert order == [60, 500, 30]

    asyncio.run(test())


def test_who_leaves_while_waiting_takes_no_room() -> None:
    async def test() -> None:
        room = ByteSemaphore(100)
        await room.acquire(100)
        impatient = asyncio.ensure_future(room.acquire(50))
        patient = asyncio.ensure_future(room.acquire(60))
        await asyncio.sleep(0)
        impatient.cancel()
        room.release(100)
        await patient
        await room.acquire(40)

    asyncio.run(test())


def test_who_leaves_in_the_moment_of_the_turn_gives_it_back() -> None:
    async def test() -> None:
        room = ByteSemaphore(100)
        await room.acquire(100)
        late = asyncio.ensure_future(room.acquire(100))
        await asyncio.sleep(0)
        room.release(100)  # its turn, and in the same moment it is cancelled
        late.cancel()
        await asyncio.wait([late])
        await room.acquire(100)

    asyncio.run(test())
