"""The datagrams of libkineto, byte by byte."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.trace.kineto.datagrams import Context, Poll, decode_datagram, encode_config, encode_context_count

POLL = (
    b"\x18\0\0\0\0\0\0\0" + b"req" + b"\0" * 29  # 24 bytes follow
    + b"\x02\0\0\0" + b"\x02\0\0\0" + b"\x67\x12\0\0\0\0\0\0" + b"\x39\x30\0\0" + b"\x38\x30\0\0"
)  # fmt: skip


def header(kind: bytes, size: int) -> bytes:
    return struct.pack("<Q32s", size, kind)


def test_poll_is_decoded_without_padding() -> None:
    assert decode_datagram(POLL) == Poll(2, 4711, (12345, 12344))


def test_job_ids_wider_than_32_bits_are_kept() -> None:
    payload = struct.pack("<iiqi", 2, 1, 1 << 40, 7)
    assert decode_datagram(header(b"req", len(payload)) + payload) == Poll(2, 1 << 40, (7,))


@pytest.mark.parametrize(("kinds", "ready"), [(0, False), (1, False), (2, True), (3, True)])
def test_bit_of_activities_says_whether_the_trainer_is_ready(kinds: int, ready: bool) -> None:
    assert Poll(kinds, 0, (1,)).is_ready is ready


def test_context_of_older_trainers_is_decoded_and_answered_with_four_bytes() -> None:
    payload = struct.pack("<iiq", 3, 99, 4711)
    assert decode_datagram(header(b"ctxt", 16) + payload) == Context(3, 99, 4711)
    reply = encode_context_count(2)
    assert reply == header(b"ctxt", 4) + b"\x02\0\0\0"
    assert len(reply) == 44


def test_empty_reply_has_forty_bytes_and_a_config_no_nul() -> None:
    assert encode_config("") == header(b"req", 0)
    assert encode_config("A=b\n") == header(b"req", 4) + b"A=b\n"


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        POLL[:39],
        POLL[:-1],  # shorter than its header says
        POLL + b"x",
        header(b"req", 0),
        header(b"req", 16) + struct.pack("<iiq", 2, 0, 1),  # no pids
        header(b"req", 20) + struct.pack("<iiqi", 2, 65, 1, 1),
        header(b"req", 20) + struct.pack("<iiqi", 2, -1, 1, 1),
        header(b"ctxt", 4) + b"\0" * 4,
        header(b"perf", 4) + b"\0" * 4,
        header(b"req" * 10, 24) + POLL[40:],
    ],
)
def test_what_no_trainer_sends_is_nothing(datagram: bytes) -> None:
    assert decode_datagram(datagram) is None


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=80).map(lambda b: header(b"req", len(b)) + b)))
def test_garbage_never_raises(datagram: bytes) -> None:
    decode_datagram(datagram)
