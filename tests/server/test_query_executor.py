"""Questions beside ingest: small ones here, big ones in a child that leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from vigie.query.errors import BadDataError, ExecutionError, QueryTimeoutError, TooManySamplesError
from vigie.query.limits import QueryLimits
from vigie.query.storage import Labels, Load, Matcher, RollupGroup, SeriesGroup, Storage
from vigie.server.http.responses import join_chunks
from vigie.server.query_executor import ALONE, QueryExecutor, Work
from vigie.simulation.memory_storage import MemoryStorage

EVERYTHING = [Matcher("__name__", "=~", ".+")]
HOURS = 10 * 3600.0


def _itself(group: SeriesGroup) -> SeriesGroup:
    return group


class Forkable(MemoryStorage):
    """A list of series that a child can go on reading, since nobody writes to it."""

    def query_running(self) -> AbstractContextManager[None]:
        return nullcontext()

    def fork_lock(self) -> AbstractContextManager[None]:
        return nullcontext()

    def after_fork(self) -> None:
        self.was_reborn = True

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        return (partial(_itself, group) for group in self.select(matchers, start, end))

    def raw_since(self) -> int:
        return 0

    def rollup_widths(self) -> Sequence[int]:
        return []

    def rollups_since(self, *_: int) -> int:
        return 0

    def rollups(self, *_: object) -> Iterator[RollupGroup]:
        return iter(())

    def label_cardinality(self) -> Counter[tuple[str, str]]:
        return Counter()

    def first_series(self, matchers: Sequence[Matcher], start: int, end: int, limit: int) -> list[Labels]:
        return self.series(matchers, start, end)[:limit]

    def series_up_to(
        self, matchers: Sequence[Matcher], start: int, end: int, limit: int
    ) -> list[Labels] | None:
        found = self.series(matchers, start, end)
        return found if len(found) <= limit else None

    def estimate_samples(self, matchers: Sequence[Matcher], start: int, end: int, enough: int) -> int:
        return min(enough + 1, sum(group.values.size for group in self.select(matchers, start, end)))


@pytest.fixture
def store() -> Forkable:
    made = Forkable()
    made.add({"__name__": "up", "instance": "a"}, range(10), [float(i) for i in range(10)])
    return made


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    before = set(os.listdir("/proc/self/fd"))
    yield
    deadline = time.monotonic() + 60  # a thread that was left alone may still be putting its child away
    while time.monotonic() < deadline and (_has_child() or _new_files(before)):
        time.sleep(0.01)
    assert not _has_child()
    assert not _new_files(before)


def _new_files(before: set[str]) -> set[str]:
    """Return what is open now and was not before; what others left open may be closed meanwhile."""
    return set(os.listdir("/proc/self/fd")) - before


def _has_child() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def ask(store: Forkable, work: Work, *, light: int = 0, seconds: float = HOURS, big: bool = False) -> bytes:
    async def query_running() -> bytes:
        readers = QueryExecutor(store, QueryLimits(seconds=HOURS), light=light)
        try:
            return join_chunks(await readers.ask(work, seconds, big=big))
        finally:
            readers.close()

    return asyncio.run(query_running())


def heavy(then: Callable[[], bytes]) -> Work:
    """Return work that is too much for a thread, and so goes on in a child."""

    def work(storage: Storage, limits: QueryLimits) -> bytes:
        storage.select(EVERYTHING, 0, 100)
        return then()

    return work


def endless(note: Path) -> Work:
    """Return work of a child that writes down its number and never ends."""

    def work() -> bytes:
        fresh = note.with_name("fresh")
        fresh.write_bytes(pid())
        fresh.rename(note)
        threading.Event().wait()
        return b""

    return heavy(work)


def pid() -> bytes:
    return str(os.getpid()).encode()


def test_a_question_that_reads_little_is_answered_in_the_server_itself(store: Forkable) -> None:
    assert ask(store, heavy(pid), light=10) == pid()


def test_a_question_that_reads_more_is_answered_by_a_child(store: Forkable) -> None:
    assert ask(store, heavy(pid), light=9 // ALONE) != pid()


def test_more_is_answered_in_the_server_where_nobody_else_asks(store: Forkable) -> None:
    over = threading.Event()

    def waiting(_: Storage, __: QueryLimits) -> bytes:
        over.wait()
        return b""

    async def query_running() -> list[bytes]:
        readers = QueryExecutor(store, QueryLimits(seconds=HOURS), light=9)
        try:
            alone = await readers.ask(heavy(pid))
            other = asyncio.create_task(readers.ask(waiting))
            await asyncio.sleep(0)  # it has begun
            beside = await readers.ask(heavy(pid))
            over.set()
            await other
            return [join_chunks(each) for each in (alone, beside, await readers.ask(heavy(pid)))]
        finally:
            over.set()
            readers.close()

    alone, beside, again = asyncio.run(query_running())
    assert alone == again == pid() != beside


def test_a_question_that_is_known_to_be_big_is_not_tried_in_the_server_first(store: Forkable) -> None:
    assert ask(store, heavy(pid), light=10, big=True) != pid()


def test_a_question_that_makes_more_than_it_reads_is_answered_by_a_child(store: Forkable) -> None:
    def work(storage: Storage, limits: QueryLimits) -> bytes:
        if limits.samples <= 9 * ALONE:
            raise TooManySamplesError
        return pid()

    assert ask(store, work, light=9) != pid()


def test_a_child_reads_the_store_as_it_was(store: Forkable) -> None:
    def work(storage: Storage, limits: QueryLimits) -> bytes:
        return bytes(storage.select(EVERYTHING, 0, 100)[0].values.tobytes())

    assert ask(store, work) == np.arange(10.0).tobytes()


def test_an_answer_larger_than_a_pipe_comes_whole(store: Forkable) -> None:
    assert ask(store, heavy(lambda: bytes(5_000_000))) == bytes(5_000_000)


@pytest.mark.parametrize(
    "error", [BadDataError("no such thing"), ExecutionError("too odd"), QueryTimeoutError("slow")]
)
def test_what_a_child_refuses_is_refused_in_its_words(store: Forkable, error: Exception) -> None:
    def refuse() -> bytes:
        raise error

    with pytest.raises(type(error), match=f"^{error}$"):
        ask(store, heavy(refuse))


def test_a_killed_child_is_an_error_and_the_next_one_answers(store: Forkable) -> None:
    def die() -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    async def query_running() -> bytes:
        readers = QueryExecutor(store, light=0)
        try:
            with pytest.raises(ExecutionError, match="SIGKILL"):
                await readers.ask(heavy(die))
            return join_chunks(await readers.ask(heavy(pid)))
        finally:
            readers.close()

    assert asyncio.run(query_running()) != pid()


def test_a_child_that_takes_too_long_is_ended(store: Forkable) -> None:
    def wait() -> bytes:
        threading.Event().wait()
        return b""

    with pytest.raises(QueryTimeoutError, match="timed out"):
        ask(store, heavy(wait), seconds=0.01)


def test_a_child_is_refused_more_memory_than_a_question_may_take(store: Forkable) -> None:
    with pytest.raises(ExecutionError, match="memory"):
        ask(store, heavy(lambda: bytes(np.empty(1 << 40, dtype=np.uint8))))


def test_a_child_holds_no_socket_of_the_server(store: Forkable) -> None:
    def sockets() -> bytes:
        held = [os.readlink(f"/proc/self/fd/{number}") for number in range(3, 100) if _is_open(number)]
        return b" ".join(link.encode() for link in held if link.startswith("socket:"))

    with socket.create_server(("127.0.0.1", 0)):
        assert ask(store, heavy(sockets)) == b""


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_a_child_whose_answer_nobody_awaits_is_ended(store: Forkable, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    async def query_running() -> None:
        readers = QueryExecutor(store, light=0)
        asking = asyncio.ensure_future(readers.ask(endless(note)))
        while not note.exists():
            await asyncio.sleep(0.001)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        readers.close()

    asyncio.run(query_running())
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_bytes()), 0)


def test_closing_ends_children_and_does_not_wait_for_their_answers(store: Forkable, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    async def query_running() -> None:
        readers = QueryExecutor(store, light=0)
        asking = asyncio.ensure_future(readers.ask(endless(note), HOURS))
        while not note.exists():
            await asyncio.sleep(0.001)
        readers.close()
        with pytest.raises(ExecutionError, match="SIGKILL"):
            await asking

    asyncio.run(query_running())
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_bytes()), 0)


def test_a_child_does_not_outlive_a_server_that_is_killed() -> None:
    program = textwrap.dedent("""
        import asyncio, os, threading
        from tests.server.test_query_executor import Forkable, heavy
        from vigie.server.query_executor import QueryExecutor

        def work():
            print(os.getpid(), flush=True)
            threading.Event().wait()

        store = Forkable()
        store.add({"__name__": "up"}, [1], [1.0])
        asyncio.run(QueryExecutor(store, light=0).ask(heavy(work)))
    """)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        child = int(server.stdout.readline())
        server.kill()
    while _runs(child):
        time.sleep(0.001)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_more_questions_than_may_wait_are_refused(store: Forkable) -> None:
    async def query_running() -> None:
        readers = QueryExecutor(store, queue=0)
        try:
            await readers.ask(heavy(pid))
        finally:
            readers.close()

    with pytest.raises(QueryTimeoutError, match="queue"):
        asyncio.run(query_running())
