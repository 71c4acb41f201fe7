"""Verifies every checksum of a data directory, read-only, even while a server runs on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from vigie.store.blocks.block_store import verify
from vigie.store.series.layout import Layouts
from vigie.store.wal.segments import SegmentDamage, replay_segment

BUSY_SECONDS = 10.0


def check(directory: Path) -> Iterator[str]:
    """Yield the defects of log, blocks and rollups."""
    yield from verify_log(directory / "log")
    blocks = directory / "blocks.sqlite"
    if not blocks.exists():
        yield f"{blocks} is missing"
    for path in sorted(directory.glob("*.sqlite")):
        yield from _verify_blocks(path)


def _verify_blocks(path: Path) -> Iterator[str]:
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", BUSY_SECONDS, uri=True)
        try:
            connection.execute("BEGIN")  # one snapshot: chunks are merged and deleted in the meantime
            yield from (f"{path}: {fault}" for fault in verify(connection))
        finally:
            connection.close()
    except sqlite3.Error as error:
        yield f"cannot read {path}: {error}"


def verify_log(directory: Path) -> Iterator[str]:
    """Yield the defects of the log's segments."""
    for path in sorted(directory.glob("*.log")):
        damaged: list[SegmentDamage] = []
        try:
            for _ in replay_segment([path], Layouts(), damaged):
                pass
        except FileNotFoundError:
            continue  # dropped in the meantime: all of it is in blocks
        yield from map(str, damaged)
