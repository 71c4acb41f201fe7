from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.sources.core import dbus
from vigie.sources.core.dbus import BusCall, decode

PING = BusCall("org.example", "/", "org.example", "Ping")
Serve = Callable[[bytes], str]


def _answer(kind: int, serial: int, signature: str, body: bytes) -> bytes:
    fields = struct.pack("<BBBBI", dbus.REPLY_SERIAL, 1, ord("u"), 0, serial)
    if signature:
        raw = signature.encode()
        fields += struct.pack("<BBBBB", dbus.SIGNATURE, 1, ord("g"), 0, len(raw)) + raw + b"\0"
    head = struct.pack("<BBBBIII", 0x6C, kind, 0, 1, len(body), 1, len(fields))
    return head + fields + bytes(-len(fields) % 8) + body


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[Serve]:
    """Return a starter of a bus that lets anybody in, says one thing and hangs up."""
    threads = []

    def start(said: bytes) -> str:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "bus"))
        listener.listen()

        def serve() -> None:
            with listener, listener.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(b"OK 1234\r\n")
                while len(connection.recv(65536)) < 100:
                    pass  # BEGIN, then the calls
                connection.sendall(said)

        threads.append(threading.Thread(target=serve))
        threads[-1].start()
        return str(tmp_path / "bus")

    yield start
    for thread in threads:
        thread.join()


def test_answers_come_in_the_order_of_the_calls(bus: Serve) -> None:
    text = struct.pack("<I", 4) + b"pong\0"
    said = _answer(2, 3, "u", struct.pack("<I", 7)) + _answer(2, 1, "", b"") + _answer(2, 2, "s", text)
    assert dbus.call(bus(said), [PING, PING]) == ["pong", 7]


def test_a_refused_call_has_no_answer(bus: Serve) -> None:
    assert dbus.call(bus(_answer(2, 1, "", b"") + _answer(3, 2, "", b"")), [PING]) == [None]


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"\xff" * 64,
        _answer(2, 1, "", b"") + _answer(2, 2, "as", b"\xff\xff\xff\xff"),
        _answer(2, 1, "", b"")[:20],
        struct.pack("<BBBBIII", 0x6C, 2, 0, 1, 1 << 31, 1, 8),
    ],
)
def test_nonsense_is_an_error_of_the_system(bus: Serve, said: bytes) -> None:
    with pytest.raises(OSError, match="bus"):
        dbus.call(bus(said), [PING])


@pytest.mark.parametrize(
    ("signature", "data", "value"),
    [
        ("(sou)", b"\1\0\0\0a\0\0\0\1\0\0\0/\0\0\0\7\0\0\0", ("a", "/", 7)),
        ("v", b"\1t\0\0\0\0\0\0\5\0\0\0\0\0\0\0", 5),
        ("a{sv}", b"\x0a\0\0\0\0\0\0\0\1\0\0\0a\0\1y\0\x09", [("a", 9)]),
        ("a(y)", b"\0\0\0\0\0\0\0\0", []),
    ],
)
def test_values_are_read_where_they_are_aligned(signature: str, data: bytes, value: object) -> None:
    assert decode("<", signature, data) == value


@given(st.binary(max_size=200), st.sampled_from(["v", "a(ssssssouso)", "a{sv}", "s", "aav", "(yv)"]))
def test_any_bytes_give_a_value_or_a_known_error(data: bytes, signature: str) -> None:
    try:
        decode("<", signature, data)
    except (ValueError, struct.error):
        pass
