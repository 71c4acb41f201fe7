"""Queueing disciplines over netlink."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

DEADLINE = 2.0
MOST_BYTES = 8 << 20
GET_QDISC, NEW_QDISC = 38, 36
REQUEST, DUMP = 0x1, 0x300
ERROR, DONE = 2, 3
ROOT = 0xFFFFFFFF
KIND, STATS2 = 1, 7
BASIC, QUEUE, PACKETS64 = 1, 3, 8
HEADER = struct.Struct("=IHHII")
TRAFFIC = struct.Struct("=BxxxiIII")  # family, interface, handle, parent, info
QUEUE_STATS = struct.Struct("=IIIII")


class Qdisc(NamedTuple):
    """The root queueing discipline of an interface, and what it counted."""

    device: str
    kind: str
    bytes: int
    packets: int
    queue_length: int
    backlog: int
    drops: int
    requeues: int
    overlimits: int


def qdiscs() -> list[Qdisc]:
    """Return the root disciplines, or raise OSError."""
    request = TRAFFIC.pack(0, 0, 0, 0, 0)
    head = HEADER.pack(HEADER.size + len(request), GET_QDISC, REQUEST | DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as channel:
        channel.settimeout(DEADLINE)
        channel.sendto(head + request, (0, 0))
        found: list[Qdisc] = []
        left = MOST_BYTES
        while left > 0:
            data = channel.recv(1 << 17)
            left -= len(data)
            for kind, body in messages(data):
                if kind == DONE:
                    return found
                if kind == ERROR:
                    (number,) = struct.unpack_from("=i", body)
                    raise OSError(-number, os.strerror(-number))
                if kind == NEW_QDISC and (qdisc := parse_qdisc(body)):
                    found.append(qdisc)
    raise OSError("the netlink response is too long")


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and body of each message; what is cut short is left out."""
    place = 0
    while place + HEADER.size <= len(data):
        length, kind, _, _, _ = HEADER.unpack_from(data, place)
        if length < HEADER.size or place + length > len(data):
            return
        yield kind, data[place + HEADER.size : place + length]
        place += length + -length % 4


def parse_qdisc(body: bytes) -> Qdisc | None:
    """Return the discipline of a message, None if it is not a root one or is malformed."""
    if len(body) < TRAFFIC.size:
        return None
    _, index, _, parent, _ = TRAFFIC.unpack_from(body)
    found = dict(_attributes(body[TRAFFIC.size :]))
    stats = dict(_attributes(found.get(STATS2, b"")))
    basic, queue = stats.get(BASIC, b""), stats.get(QUEUE, b"")
    if parent != ROOT or len(basic) < 12 or len(queue) < QUEUE_STATS.size:
        return None
    try:
        device = socket.if_indextoname(index)
    except (OSError, OverflowError):
        return None  # it went away meanwhile
    sent, packets = struct.unpack_from("=QI", basic)
    if len(stats.get(PACKETS64, b"")) >= 8:
        (packets,) = struct.unpack_from("=Q", stats[PACKETS64])
    length, backlog, drops, requeues, overlimits = QUEUE_STATS.unpack_from(queue)
    kind = found.get(KIND, b"").partition(b"\0")[0].decode("utf-8", "replace")
    return Qdisc(device, kind, sent, packets, length, backlog, drops, requeues, overlimits)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, place)
        if length < 4 or place + length > len(data):
            return
        yield kind & 0x3FFF, data[place + 4 : place + length]
        place += length + -length % 4
