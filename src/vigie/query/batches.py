"""Things that follow one another, some at a time: so many that what is made of them stays in the caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(things: Iterable[T], size: Callable[[T], int], enough: int) -> Iterator[list[T]]:
    """Yield the things in lists that are as large as that or a little larger, but for the last."""
    batch, total = list[T](), 0
    for thing in things:
        batch.append(thing)
        total += size(thing)
        if total >= enough:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
