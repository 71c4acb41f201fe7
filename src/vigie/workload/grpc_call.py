"""One gRPC call over a Unix socket, and the little of HTTP/2 and protobuf that it takes.

The request has no message to speak of; of the answer only its data counts, so that no compressed header
has to be read. A whole gRPC library would cost the agent more memory than all of its sources.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from typing import Union

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 1
END_HEADERS = 4
INITIAL_WINDOW_SIZE = 4  # a setting
MAX_ANSWER = 8 << 20  # bytes, which is also how much may come before we would have to ask for more
MAX_FRAMES = 10_000
METHOD_POST, SCHEME_HTTP = b"\x83", b"\x86"  # in HPACK's static table
AUTHORITY, PATH, CONTENT_TYPE, OTHER = b"\x01", b"\x04", b"\x0f\x10", b"\x00"  # names without their values

Field = tuple[int, Union[int, bytes]]


class GrpcError(Exception):
    """The call gave no answer; the message says why."""


def call(path: str, method: str, deadline: float) -> bytes:
    """Return the message that a server answers to an empty one, or raise GrpcError."""
    end = time.monotonic() + deadline
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(deadline)
            connection.connect(path)
            connection.sendall(_request(method))
            return _message(_data(_Frames(connection, end)))
    except OSError as error:
        raise GrpcError(error.strerror or str(error)) from None


def fields(message: bytes) -> Iterator[Field]:
    """Yield number and value of each field of a protobuf message, or raise GrpcError."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, place = _varint(message, place)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise GrpcError("its answer is no protobuf")
        if place + size > len(message):
            raise GrpcError("its answer ends too early")
        yield tag >> 3, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = 0
    for count in range(10):
        if place + count >= len(message):
            break
        byte = message[place + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, place + count + 1
    raise GrpcError("its answer is no protobuf")


def _frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()  # short, and not Huffman's


def _request(method: str) -> bytes:
    headers = METHOD_POST + SCHEME_HTTP + PATH + _text(method) + AUTHORITY + _text("localhost")
    headers += CONTENT_TYPE + _text("application/grpc") + OTHER + _text("te") + _text("trailers")
    return b"".join(
        (
            PREFACE,
            _frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, MAX_ANSWER)),
            _frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", MAX_ANSWER)),
            _frame(HEADERS, END_HEADERS, 1, headers),
            _frame(DATA, END_STREAM, 1, bytes(5)),
        )
    )


class _Frames:
    """Reads frames until a time, and answers those that want an answer."""

    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection, self._end = connection, end

    def __iter__(self) -> Iterator[tuple[int, int, int, bytes]]:
        for _ in range(MAX_FRAMES):
            head = self._take(9)
            size = int.from_bytes(head[:3], "big")
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            if size > MAX_ANSWER:
                break
            body = self._take(size)
            if kind in (SETTINGS, PING) and not flags & ACK:
                self._connection.sendall(_frame(kind, ACK, 0, body if kind == PING else b""))
            yield kind, flags, stream & 0x7FFFFFFF, body
        raise GrpcError("its answer is too long")

    def _take(self, size: int) -> bytes:
        taken = bytearray()
        while len(taken) < size:
            left = self._end - time.monotonic()
            if left <= 0:
                raise GrpcError("no answer in time")
            self._connection.settimeout(left)
            part = self._connection.recv(min(size - len(taken), 1 << 16))
            if not part:
                raise GrpcError("it closed the connection")
            taken += part
        return bytes(taken)


def _data(frames: _Frames) -> bytes:
    data = bytearray()
    for kind, flags, stream, body in frames:
        if kind == GOAWAY or (kind == RESET and stream == 1):
            raise GrpcError("it refused the call")
        if stream == 1 and kind == DATA:
            data += body[1 : len(body) - body[0]] if flags & 8 and body else body  # less the padding
            if len(data) > MAX_ANSWER:
                break
        if stream == 1 and kind in (DATA, HEADERS) and flags & END_STREAM:
            return bytes(data)
    raise GrpcError("its answer is too long")


def _message(data: bytes) -> bytes:
    """Return the message behind gRPC's five bytes."""
    if len(data) < 5:
        raise GrpcError("it answered without a message")
    size = int.from_bytes(data[1:5], "big")
    if data[0] or len(data) < 5 + size:
        raise GrpcError("its message is compressed, or ends too early")
    return data[5 : 5 + size]
