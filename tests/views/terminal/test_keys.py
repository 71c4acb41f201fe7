"""Keys: what terminals send, also in pieces and as garbage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.views.terminal.keys import MAX_WAITING, decode_keys


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b[A\x1bOB", ["up", "down"]),
        (b"\x1b[5~\x1b[6~", ["page up", "page down"]),
        (b"\x1b", ["esc"]),
        (b"\x1bq", ["esc", "q"]),
        (b"\x1b[1;5C", []),
        (b"\t\r\x7f\x1b[Z", ["tab", "enter", "backspace", "back tab"]),
        ("é日".encode(), ["é", "日"]),
        (b"\xff\x00a", ["a"]),
    ],
)
def test_bytes_become_keys(sent: bytes, keys: list[str]) -> None:
    assert decode_keys(sent, done=True) == (keys, b"")


@given(
    st.lists(st.sampled_from([b"\x1b[A", b"\x1bOC", b"\x1b[5~", b"q", "é".encode()]), max_size=6).map(
        b"".join
    ),
    st.integers(0, 20),
)
def test_keys_that_come_in_pieces_are_put_together(sent: bytes, at: int) -> None:
    first, rest = decode_keys(sent[:at], done=False)
    second, _ = decode_keys(rest + sent[at:], done=True)
    assert first + second == decode_keys(sent, done=True)[0]


@given(st.binary(max_size=200))
def test_garbage_leaves_little_behind_and_gives_only_names_and_printable_characters(sent: bytes) -> None:
    keys, rest = decode_keys(sent, done=False)
    assert len(rest) < MAX_WAITING
    assert all(key.isprintable() for key in keys)
    assert decode_keys(sent, done=True)[1] == b""
