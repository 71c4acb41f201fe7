from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from vigie.query.parallel import MAX_THREADS, parallel_map


def test_results_come_in_order() -> None:
    tasks = [partial(pow, n, 2) for n in range(100)]
    assert list(parallel_map(tasks, lambda: True)) == [n * n for n in range(100)]
    assert list(parallel_map(tasks, lambda: False)) == [n * n for n in range(100)]


def test_small_tasks_stay_in_their_thread_and_order_holds_when_that_changes() -> None:
    seen: list[int] = []

    def note(number: int) -> int:
        seen.append(threading.get_ident())
        return number

    switching = iter([False, True, True, False, False] * 20)
    made = list(parallel_map([partial(note, n) for n in range(50)], lambda: next(switching)))
    assert made == list(range(50))
    assert threading.get_ident() in seen


def test_only_a_few_tasks_are_taken_in_advance() -> None:
    taken = 0

    def tasks() -> Iterator[Callable[[], int]]:
        nonlocal taken
        for n in range(1000):
            taken += 1
            yield partial(abs, n)

    results = parallel_map(tasks(), lambda: True)
    next(results)
    assert taken <= MAX_THREADS + 3


def test_failure_of_a_task_is_that_of_the_whole() -> None:
    def fail() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(parallel_map([fail] * 3, lambda: True))


def test_forked_child_has_threads_of_its_own() -> None:
    assert list(parallel_map([partial(abs, -1)], lambda: True)) == [1]
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if list(parallel_map([partial(abs, -n) for n in range(9)], lambda: True))[8] == 8 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
