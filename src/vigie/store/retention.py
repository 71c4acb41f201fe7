"""Which chunks go: the ones past their age, then the oldest until the rest fits."""

from __future__ import annotations

from typing import NamedTuple

from vigie.store.blocks import Blocks
from vigie.store.stream import Stream


class Retention(NamedTuple):
    """How long raw data are kept, and how many bytes of blocks at most; 0 bytes means any number."""

    age_ms: int = 15 * 86_400_000
    max_bytes: int = 0


def expire(blocks: Blocks, retention: Retention, now: int) -> set[int]:
    """Remove what must go; return the numbers of the streams that lost something."""
    lost: set[int] = set()
    with blocks.transaction():
        for number, stream, last in blocks.oldest():
            too_much = bool(retention.max_bytes) and blocks.size() > retention.max_bytes
            if last >= now - retention.age_ms and not too_much:
                break
            blocks.remove_chunk(number)
            lost.add(stream)
    return lost


def forget(stream: Stream, retention: Retention, now: int) -> bool:
    """Drop what is too old from memory; tell whether there was any."""
    stay = [piece for piece in stream.pieces if piece.end >= now - retention.age_ms]
    dropped = len(stay) < len(stream.pieces)
    stream.pieces = stay
    return dropped
