"""What one datagram says: a JSON object of names and numbers, and who sent it, as the kernel says."""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from vigie.model.nan import NAN

MOST_BYTES = 8 << 10
MOST_NAMES = 50
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
LABEL = re.compile(r"[A-Za-z0-9_.:+-]{1,64}")
CREDENTIALS = struct.Struct("3i")  # pid, uid, gid
ANCILLARY = socket.CMSG_SPACE(CREDENTIALS.size)
RANK, JOB = "rank", "job_id"


class InvalidReportError(Exception):
    """A datagram is left out; the message says why, in words that do not come from it."""


class Report(NamedTuple):
    """What a process says of itself."""

    values: dict[str, float]
    rank: str = ""
    job_id: str = ""


class Sender(NamedTuple):
    """The process that sent a datagram."""

    pid: int
    uid: int


def parse_report(data: bytes) -> Report:
    """Return what a datagram says, or raise InvalidReportError."""
    if len(data) > MOST_BYTES:
        raise InvalidReportError(f"it is longer than {MOST_BYTES} bytes")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidReportError("it is not JSON") from None
    if not isinstance(content, dict):
        raise InvalidReportError("it is not a JSON object of names and numbers")
    labels = {name: _label(content.pop(name)) for name in (RANK, JOB) if name in content}
    if not content or len(content) > MOST_NAMES:
        raise InvalidReportError(f"it has {len(content)} names, not 1 to {MOST_NAMES}")
    return Report({_name(name): _number(value) for name, value in content.items()}, **labels)


def sender_of(ancillary: Sequence[tuple[int, int, bytes]]) -> Sender:
    """Return who sent a datagram, or raise InvalidReportError."""
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS) and len(data) == CREDENTIALS.size:
            pid, uid, _ = CREDENTIALS.unpack(data)
            if pid > 0:
                return Sender(pid, uid)
    raise InvalidReportError("its process cannot be seen from here (another PID namespace)")


def _name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise InvalidReportError("a name is not made of up to 64 letters, digits and underscores")
    return name


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise InvalidReportError("a value is not a number")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidReportError("a number is too large") from None
    return number if number == number else NAN  # a loss that is no number any more is worth showing


def _label(value: Any) -> str:
    text = str(value) if isinstance(value, (str, int)) else ""
    if not LABEL.fullmatch(text):
        raise InvalidReportError("rank or job_id is not a short word")
    return text
