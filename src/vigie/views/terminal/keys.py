"""The bytes that a terminal sends for keys, and the keys' names."""

from __future__ import annotations

ESCAPE = 0x1B
MAX_WAITING = 64  # bytes of a sequence that does not end
NAMED = {
    b"\x1b[A": "up",
    b"\x1b[B": "down",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1b[1~": "home",
    b"\x1b[4~": "end",
    b"\x1b[7~": "home",
    b"\x1b[8~": "end",
    b"\x1b[5~": "page up",
    b"\x1b[6~": "page down",
    b"\x1b[Z": "back tab",
}
SINGLE = {0x09: "tab", 0x0A: "enter", 0x0D: "enter", 0x7F: "backspace", 0x08: "backspace"}


def decode_keys(waiting: bytes, done: bool) -> tuple[list[str], bytes]:
    """Return the keys, and the begin of one that is not complete; none is kept when no more bytes come."""
    keys: list[str] = []
    while waiting:
        size = _size(waiting)
        if size > len(waiting) and not done and len(waiting) < MAX_WAITING:
            return keys, waiting
        if size > len(waiting):
            size = 1  # an Escape by itself, or garbage
        keys += _key_names(waiting[:size])
        waiting = waiting[size:]
    return keys, b""


def _size(waiting: bytes) -> int:
    """Return how many bytes the first key has; one more than there are when its end is not there yet."""
    first = waiting[0]
    if first == ESCAPE:
        return _sequence(waiting)
    return next((size for bound, size in ((0xF0, 4), (0xE0, 3), (0xC0, 2)) if first >= bound), 1)


def _sequence(waiting: bytes) -> int:
    if len(waiting) == 1:
        return 2
    if waiting[1] == ord("O"):
        return 3
    if waiting[1] != ord("["):
        return 1  # Escape, and then another key
    ends = (index for index in range(2, len(waiting)) if 0x40 <= waiting[index] <= 0x7E)
    return next(ends, len(waiting)) + 1


def _key_names(sequence: bytes) -> list[str]:
    if sequence[0] == ESCAPE:
        if len(sequence) == 1:
            return ["esc"]
        name = NAMED.get(b"\x1b[" + sequence[2:])
        return [name] if name else []
    if len(sequence) == 1 and sequence[0] in SINGLE:
        return [SINGLE[sequence[0]]]
    text = sequence.decode(errors="ignore")
    return [text] if text.isprintable() and text else []
