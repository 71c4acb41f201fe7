"""cluster.sqlite: versioned, checked, and written while others read."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vigie.model import Binding
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import (
    FILE,
    MIGRATIONS,
    OLD_FILES,
    ClusterDatabase,
    NewerSchemaError,
    check_database,
    migrate,
)
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
    with contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database, ThreadPoolExecutor() as threads:
        book = BindingStore(database)
        reader = sqlite3.connect(tmp_path / FILE, isolation_level=None)  # with a snapshot that it keeps
        reader.execute("begin")
        reader.execute("select * from bindings").fetchall()
        asking = threads.submit(book.users.find, BindingFilter(user=held), 0, 10)  # type: ignore[arg-type]
        try:
            assert held.asked.wait(60)
            book.add("n1", Binding("gpu:0", "job", "1", 5, user="ann"))
            database.sync()
            assert book.jobs.of("ann") == {"1"}
            assert not asking.done()
        finally:
            held.free.set()
            reader.close()
        assert [user.name for user in asking.result()] == ["ann"]


def version_of(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("pragma user_version").fetchone()
    return int(version)


def tables_of(path: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}


def test_new_file_has_the_newest_version_and_every_table(tmp_path: Path) -> None:
    ClusterDatabase(tmp_path / FILE).close()
    assert version_of(tmp_path / FILE) == len(MIGRATIONS)
    assert tables_of(tmp_path / FILE) >= {"nodes", "activity", "events", "bindings", "jobs"}


def test_missing_steps_are_run_in_order_and_none_twice(tmp_path: Path) -> None:
    steps = ["create table a (x);", "insert into a values (1);", "insert into a values (2);"]
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        migrate(connection, tmp_path / FILE, steps[:2])
        migrate(connection, tmp_path / FILE, steps)
        migrate(connection, tmp_path / FILE, steps)
        assert connection.execute("select x from a").fetchall() == [(1,), (2,)]
    assert version_of(tmp_path / FILE) == 3


def test_step_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection, pytest.raises(sqlite3.Error):
        migrate(connection, tmp_path / FILE, ["create table a (x);", "create table b (x); create tabl c;"])
    assert (version_of(tmp_path / FILE), tables_of(tmp_path / FILE)) == (1, {"a"})


def test_newer_file_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    ClusterDatabase(tmp_path / FILE).close()
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("pragma user_version = 99")
    with pytest.raises(NewerSchemaError, match=r"schema version 99 is newer .* Upgrade vigie"):
        ClusterDatabase(tmp_path / FILE)
    assert version_of(tmp_path / FILE) == 99


def test_files_of_an_older_version_are_named_once_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in OLD_FILES:
        (tmp_path / name).write_bytes(b"old")
    ClusterDatabase(tmp_path / FILE).close()
    (line,) = caplog.messages
    assert all(name in line for name in OLD_FILES)
    assert [(tmp_path / name).read_bytes() for name in OLD_FILES] == [b"old"] * len(OLD_FILES)


def test_check_finds_damage_and_an_unknown_version(tmp_path: Path) -> None:
    path = tmp_path / FILE
    assert list(check_database(path)) == []
    with contextlib.closing(ClusterDatabase(path)) as database:
        bindings = BindingStore(database)
        for number in range(500):
            bindings.add("n1", Binding(f"gpu:{number}", "job", "1", 5, user="ann"))
    assert list(check_database(path)) == []
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * 4096 + whole[12288:])
    assert list(check_database(path))
    path.write_bytes(b"no database at all" * 100)
    assert "cannot read" in next(check_database(path))


def test_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    with contextlib.closing(ClusterDatabase(tmp_path / FILE)) as database:
        row = ("n1", None)  # facts may not be null
        with pytest.raises(sqlite3.IntegrityError), database.transaction() as connection:
            connection.executemany("insert into nodes (name, facts) values (?, ?)", [("n0", "{}"), row])
        assert database.query("select name from nodes") == []
