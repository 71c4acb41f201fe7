"""What is kept beside the samples: reading takes its time, and writing does not wait for it."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vigie.model import Binding
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.filters import BindingFilter


class _Held:
    """A parameter whose question waits until it is let go."""

    def __init__(self) -> None:
        self.asked, self.free = threading.Event(), threading.Event()

    def __conform__(self, _protocol: object) -> str:
        self.asked.set()
        assert self.free.wait(60)
        return "ann"


def test_nobody_who_writes_waits_for_a_long_question(tmp_path: Path) -> None:
    held = _Held()
    with contextlib.closing(BindingStore(tmp_path / "b")) as book, ThreadPoolExecutor() as threads:
        reader = sqlite3.connect(tmp_path / "b", isolation_level=None)  # with a snapshot that it keeps
        reader.execute("begin")
        reader.execute("select * from bindings").fetchall()
        asking = threads.submit(book.users.find, BindingFilter(user=held), 0, 10)  # type: ignore[arg-type]
        try:
            assert held.asked.wait(60)
            book.add("n1", Binding("gpu:0", "job", "1", 5, user="ann"))
            book.sync()
            assert book.jobs.of("ann") == {"1"}
            assert not asking.done()
        finally:
            held.free.set()
            reader.close()
        assert [user.name for user in asking.result()] == ["ann"]
