"""A small D-Bus client: some method calls over a Unix socket, sent at once, within one deadline."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

DEADLINE = 5.0
MOST_BYTES = 16 << 20  # of all answers together
DEEPEST = 16  # levels of a value
HEADER = 16  # bytes before a message's fields
METHOD_CALL, METHOD_RETURN, ERROR = 1, 2, 3
PATH, INTERFACE, MEMBER, REPLY_SERIAL, DESTINATION, SIGNATURE = 1, 2, 3, 5, 6, 8
NUMBERS = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d"}


class BusCall(NamedTuple):
    """One method call; its arguments are texts."""

    destination: str
    path: str
    interface: str
    member: str
    arguments: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the call as one line, such as busctl takes it."""
        return " ".join([self.destination, self.path, f"{self.interface}.{self.member}", *self.arguments])


HELLO = BusCall("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")


def call(address: str, calls: Sequence[BusCall]) -> list[Any]:
    """Return the first value of each answer, None for a call that was refused, or raise OSError."""
    limit = time.monotonic() + DEADLINE
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(DEADLINE)
        connection.connect(address)
        _authenticate(connection)
        numbered = list(enumerate((HELLO, *calls), 1))
        connection.sendall(b"".join(_encode(serial, each) for serial, each in numbered))
        try:
            answers = _answers(_BusStream(connection, limit), len(numbered))
        except (ValueError, struct.error) as error:
            raise OSError(f"invalid response from the bus: {error}") from error
    return [answers.get(serial) for serial, _ in numbered[1:]]


def _authenticate(connection: socket.socket) -> None:
    uid = str(os.geteuid()).encode().hex()
    connection.sendall(f"\0AUTH EXTERNAL {uid}\r\n".encode())
    said = b""
    while not said.endswith(b"\r\n") and len(said) < 512:
        more = connection.recv(512)
        if not more:
            break
        said += more
    if not said.startswith(b"OK "):
        raise PermissionError(f"bus authentication failed: {said[:64]!r}")
    connection.sendall(b"BEGIN\r\n")


class _BusStream:
    """What comes from the bus, bounded in time and size."""

    def __init__(self, connection: socket.socket, limit: float) -> None:
        self._connection, self._limit = connection, limit
        self._data = bytearray()
        self._left = MOST_BYTES

    def take(self, length: int) -> bytes:
        """Return exactly so many bytes, or raise OSError."""
        while len(self._data) < length:
            seconds = self._limit - time.monotonic()
            if seconds <= 0:
                raise TimeoutError(f"the bus timed out after {DEADLINE:g}s")
            self._connection.settimeout(seconds)
            more = self._connection.recv(65536)
            self._left -= len(more)
            if not more or self._left < 0:
                raise OSError("the bus closed the connection" if not more else "the bus response is too long")
            self._data += more
        taken = bytes(self._data[:length])
        del self._data[:length]
        return taken


def _answers(stream: _BusStream, wanted: int) -> dict[int, Any]:
    """Return the answers by the number of their call; signals and the like are passed over."""
    found: dict[int, Any] = {}
    while len(found) < wanted:
        head = stream.take(HEADER)
        order = {0x6C: "<", 0x42: ">"}.get(head[0])
        if order is None:
            raise ValueError("a message in neither byte order")
        body_length, _, fields_length = struct.unpack_from(order + "III", head, 4)
        padded = fields_length + -fields_length % 8
        if body_length + padded > MOST_BYTES:
            raise ValueError("a message that is too long")
        fields = dict(decode(order, "a(yv)", head[12:] + stream.take(padded), start=HEADER - 4))
        body = stream.take(body_length)
        serial = fields.get(REPLY_SERIAL)
        if head[1] == METHOD_RETURN and serial:
            signature = fields.get(SIGNATURE, "")
            found[serial] = decode(order, next(_types(signature)), body) if signature else None
        elif head[1] == ERROR and serial:
            found[serial] = None
    return found


def _encode(serial: int, each: BusCall) -> bytes:
    fields = _Writer()
    for code, kind, text in (
        (PATH, "o", each.path),
        (INTERFACE, "s", each.interface),
        (MEMBER, "s", each.member),
        (DESTINATION, "s", each.destination),
        (SIGNATURE, "g", "s" * len(each.arguments)),
    ):
        if text:
            fields.align(8)
            fields.data += bytes([code, 1]) + kind.encode() + b"\0"
            fields.text(kind, text)
    body = _Writer()
    for argument in each.arguments:
        body.text("s", argument)
    head = struct.pack("<BBBBIII", 0x6C, METHOD_CALL, 0, 1, len(body.data), serial, len(fields.data))
    fields.align(8)
    return head + bytes(fields.data) + bytes(body.data)


class _Writer:
    """Puts texts together, each where it has to begin."""

    def __init__(self) -> None:
        self.data = bytearray()

    def align(self, size: int) -> None:
        """Go on at a multiple of the size."""
        self.data += bytes(-len(self.data) % size)

    def text(self, kind: str, text: str) -> None:
        """Add a text or a signature."""
        raw = text.encode()
        if kind == "g":
            self.data += bytes([len(raw)]) + raw + b"\0"
        else:
            self.align(4)
            self.data += struct.pack("<I", len(raw)) + raw + b"\0"


def decode(order: str, signature: str, data: bytes, start: int = 0) -> Any:
    """Return the one value of this type; what makes no sense raises ValueError or struct.error.

    The data begin at the place `start` of their message, which matters for where values are aligned.
    """
    return _ValueReader(order, data, start).value(signature, 0)


class _ValueReader:
    """Walks through the bytes of a value."""

    def __init__(self, order: str, data: bytes, start: int) -> None:
        self._order, self._data, self._start = order, data, start
        self._place = 0

    def value(self, kind: str, depth: int) -> Any:
        """Return the value of a single complete type."""
        if depth > DEEPEST:
            raise ValueError("a value that is too deep")
        first = kind[0]
        if first in NUMBERS:
            return self._number(NUMBERS[first])
        if first in "so":
            return self._text(self._number("I"))
        if first == "g":
            return self._text(self._number("B"))
        if first == "v":
            return self.value(next(_types(self._text(self._number("B")))), depth + 1)
        if first in "({":
            self._align(8)
            return tuple(self.value(each, depth + 1) for each in _types(kind[1:-1]))
        return self._array(kind[1:], depth)

    def _array(self, kind: str, depth: int) -> list[Any]:
        length = self._number("I")
        self._align(_alignment(kind))
        end = self._place + length
        if end > len(self._data):
            raise ValueError("an array that goes on past its message")
        found = []
        while self._place < end:
            before = self._place
            found.append(self.value(kind, depth + 1))
            if self._place == before:
                raise ValueError("an array of nothing")
        return found

    def _number(self, form: str) -> Any:
        size = struct.calcsize("=" + form)
        self._align(size)
        (number,) = struct.unpack_from(self._order + form, self._data, self._place)
        self._place += size
        return number

    def _text(self, length: int) -> str:
        raw = self._data[self._place : self._place + length]
        if len(raw) < length:
            raise ValueError("a text that goes on past its message")
        self._place += length + 1
        return raw.decode("utf-8", "replace")

    def _align(self, size: int) -> None:
        self._place += -(self._start + self._place) % size


def _alignment(kind: str) -> int:
    first = kind[0]
    if first in NUMBERS:
        return struct.calcsize("=" + NUMBERS[first])
    return 8 if first in "({" else 1 if first in "gv" else 4


def _types(signature: str) -> Iterator[str]:
    """Yield the single complete types of a signature, or raise ValueError."""
    place = 0
    while place < len(signature):
        end = _type_end(signature, place)
        yield signature[place:end]
        place = end


def _type_end(signature: str, place: int) -> int:
    while signature[place : place + 1] == "a":
        place += 1
    first = signature[place : place + 1]
    if first and first in "({":
        close = ")" if first == "(" else "}"
        place += 1
        while signature[place : place + 1] != close:
            place = _type_end(signature, place)
        return place + 1
    if not first or first not in "sogv" + "".join(NUMBERS):
        raise ValueError(f"no type of D-Bus: {signature[:32]!r}")
    return place + 1
