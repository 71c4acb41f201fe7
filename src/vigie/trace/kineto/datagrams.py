"""The datagrams between a trainer's libkineto and its daemon.

A header of 40 bytes (the payload's size and a type of 32 letters) and the payload; integers are little-endian
without padding. A `req` is the trainer's poll, registration and sign of life in one.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_HEADER = struct.Struct("<Q32s")
_CONTEXT = struct.Struct("<iiq")
_REQUEST = struct.Struct("<iiq")
_COUNT = struct.Struct("<i")

CONTEXT, REQUEST = b"ctxt", b"req"
MAX_DATAGRAM_BYTES = 4096  # a request has 56 bytes and 4 for each ancestor
MAX_PIDS = 64
ACTIVITIES = 2  # the bit of a trainer that takes a configuration now


class Context(NamedTuple):
    """An older trainer says that it uses a GPU; answered, and not needed otherwise."""

    gpu: int
    pid: int
    job_id: int


class Poll(NamedTuple):
    """A trainer asks for a configuration; its pids are its own and its ancestors', as it sees them."""

    kinds: int
    job_id: int
    pids: tuple[int, ...]

    @property
    def is_ready(self) -> bool:
        """Return whether the trainer would start a trace now; without the bit it is tracing."""
        return bool(self.kinds & ACTIVITIES)


def decode_datagram(datagram: bytes) -> Context | Poll | None:
    """Return what a trainer sent, or None for anything else."""
    if len(datagram) < _HEADER.size:
        return None
    size, kind = _HEADER.unpack_from(datagram)
    payload = datagram[_HEADER.size :]
    if size != len(payload):
        return None
    name = kind.rstrip(b"\0")
    if name == CONTEXT and len(payload) >= _CONTEXT.size:
        return Context(*_CONTEXT.unpack_from(payload))
    return _decode_poll(payload) if name == REQUEST else None


def _decode_poll(payload: bytes) -> Poll | None:
    if len(payload) < _REQUEST.size:
        return None
    kinds, count, job_id = _REQUEST.unpack_from(payload)
    if not 1 <= count <= MAX_PIDS or len(payload) < _REQUEST.size + 4 * count:
        return None
    return Poll(kinds, job_id, struct.unpack_from(f"<{count}i", payload, _REQUEST.size))


def encode_config(text: str) -> bytes:
    """Return the reply to a poll; without anything to do its text is empty."""
    payload = text.encode()
    return _HEADER.pack(len(payload), REQUEST) + payload


def encode_context_count(count: int) -> bytes:
    """Return the reply to a context: how many processes use that GPU for that job."""
    return _HEADER.pack(_COUNT.size, CONTEXT) + _COUNT.pack(count)
