"""Does a few things at a time, as many as there are processors, and gives the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
MOST = 8  # threads

# One pool for each process: the threads of a parent do not exist in a forked child.
_pools: dict[int, ThreadPoolExecutor] = {}


def parallel_map(tasks: Iterable[Callable[[], T]], worth: Callable[[], bool]) -> Iterator[T]:
    """Yield the results of the tasks in order; only a few are taken in advance, so that few are held.

    Threads are used as long as that is worth it: small tasks would only wait for each other.
    """
    workers = min(os.cpu_count() or 1, MOST)
    waiting: deque[Future[T]] = deque()
    try:
        for task in tasks:
            alone = workers == 1 or not worth()
            if not alone:
                waiting.append(_pool(workers).submit(task))
            while len(waiting) > (0 if alone else workers + 1):
                yield waiting.popleft().result()
            if alone:
                yield task()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _pool(workers: int) -> ThreadPoolExecutor:
    process = os.getpid()
    if process not in _pools:
        _pools.clear()
        _pools[process] = ThreadPoolExecutor(workers, thread_name_prefix="query")
    return _pools[process]
