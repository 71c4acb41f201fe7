"""Runs tasks in a few threads, and yields their results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
MAX_THREADS = 8  # threads

# One pool per process: the threads of a parent do not exist in a forked child.
_pools: dict[int, ThreadPoolExecutor] = {}


def parallel_map(tasks: Iterable[Callable[[], T]], worth: Callable[[], bool]) -> Iterator[T]:
    """Yield the results of tasks in order, submitting only a few ahead.

    Threads are used only while `worth` returns true: small tasks would contend for the interpreter's lock.
    """
    workers = min(os.cpu_count() or 1, MAX_THREADS)
    pending: deque[Future[T]] = deque()
    try:
        for task in tasks:
            inline = workers == 1 or not worth()
            if not inline:
                pending.append(_pool(workers).submit(task))
            while len(pending) > (0 if inline else workers + 1):
                yield pending.popleft().result()
            if inline:
                yield task()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


def _pool(workers: int) -> ThreadPoolExecutor:
    process = os.getpid()
    if process not in _pools:
        _pools.clear()
        _pools[process] = ThreadPoolExecutor(workers, thread_name_prefix="query")
    return _pools[process]
