"""What a question gives: bytes, or pieces of them where these are many, so that they are copied only once."""

from __future__ import annotations

from collections.abc import Iterable

from vigie.query.batches import batches

PIECE = 256 << 10  # bytes handed over at a time: asyncio copies what the network does not take yet
Body = bytes | list[bytes]


def in_pieces(parts: Iterable[bytes]) -> Body:
    """Return what the parts are together."""
    pieces = [b"".join(some) for some in batches(parts, len, PIECE)]
    return pieces if len(pieces) > 1 else b"".join(pieces)


def whole(body: Body) -> bytes:
    """Return all of it as one."""
    return body if isinstance(body, bytes) else b"".join(body)
