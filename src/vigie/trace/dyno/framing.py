"""How a call travels: the length as a little-endian int32, then JSON, one call a connection."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any

PORT = 1778
MAX_MESSAGE_BYTES = 1024 * 1024
_LENGTH = struct.Struct("<i")


class FramingError(ConnectionError):
    """The peer sent no whole message; the text says why."""


def encode_message(message: object) -> bytes:
    """Return a message as dynolog writes it: compact, its keys in order."""
    text = json.dumps(message, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
    return frame_text(text)


def frame_text(text: bytes) -> bytes:
    return _LENGTH.pack(len(text)) + text


def decode_length(header: bytes) -> int:
    """Return how many bytes follow, or raise FramingError for a length that no peer of ours sends."""
    (length,) = _LENGTH.unpack(header)
    if not 0 < length <= MAX_MESSAGE_BYTES:
        raise FramingError(f"a message of {length} bytes")
    return int(length)


async def read_message(reader: asyncio.StreamReader) -> Any:
    """Return the next message, or raise FramingError."""
    try:
        length = decode_length(await reader.readexactly(_LENGTH.size))
        return json.loads(await reader.readexactly(length))
    except asyncio.IncompleteReadError as error:
        raise FramingError(f"the connection ended after {len(error.partial)} bytes") from None
    except (ValueError, RecursionError):
        raise FramingError("a message that is not JSON") from None
