"""Deletes chunks: those past their age, then the oldest until the rest fits."""

from __future__ import annotations

from typing import NamedTuple

from vigie.store.blocks.block_store import BlockStore
from vigie.store.heads.stream import Stream

CHUNKS_PER_COMMIT = 64
DEFAULT_SHARE = 0.2  # of the file system


class Retention(NamedTuple):
    """Maximum age of raw data, and maximum bytes of blocks.

    0 bytes means unlimited, None a share of the file system.
    """

    age_ms: int = 15 * 86_400_000
    max_bytes: int | None = None

    def resolve(self, total: int) -> Retention:
        """Replace None by a number of bytes."""
        return self if self.max_bytes is not None else self._replace(max_bytes=int(total * DEFAULT_SHARE))

    def reserve_rollups(self, others: int) -> Retention:
        """Subtract the bytes of rollups, but keep at least half."""
        if not self.max_bytes:
            return self
        return self._replace(max_bytes=max(self.max_bytes - others, self.max_bytes // 2, 1))

    def quarter_of(self, max_bytes: int | None) -> Retention:
        """Limit to a quarter of the bytes for raw data."""
        return self._replace(max_bytes=-(-max_bytes // 4) if max_bytes else 0)


def expire(blocks: BlockStore, retention: Retention, now: int) -> dict[int, int]:
    """Delete expired chunks; return the streams that lost some, each with the last time lost."""
    lost: dict[int, int] = {}
    while True:
        oldest = blocks.oldest(CHUNKS_PER_COMMIT)
        with blocks.database.write_lock:  # no thread may be inside SQLite when a child is forked
            due = bool(oldest) and _is_expired(blocks, retention, oldest[0], now)
        if not due:
            return lost
        with blocks.transaction():
            blocks.database.fork_barrier.wait()
            for chunk in oldest:
                if not _is_expired(blocks, retention, chunk, now):
                    return lost
                number, stream, last = chunk
                blocks.delete_chunk(number)
                lost[stream] = last


def _is_expired(blocks: BlockStore, retention: Retention, chunk: tuple[int, int, int], now: int) -> bool:
    too_much = 0 < (retention.max_bytes or 0) < blocks.size()
    return too_much or chunk[2] < now - retention.age_ms


def expire_memory(stream: Stream, retention: Retention, now: int) -> list[int]:
    """Drop expired pieces from memory; return the last time of each."""
    before = now - retention.age_ms
    dropped = [piece.end for piece in stream.pieces if piece.end < before]
    stream.pieces = [piece for piece in stream.pieces if piece.end >= before]
    return dropped
