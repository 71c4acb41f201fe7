"""A network interface's driver, its counters and its link modes, by ethtool's ioctl."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import socket
import struct
import sys
from typing import NamedTuple

SIOCETHTOOL = 0x8946
GET_DRIVER, GET_STRINGS, GET_STATS, GET_LINK = 0x03, 0x1B, 0x1D, 0x4C
STATS = 1  # the set of strings that names the counters
WORD = 32  # bytes of a name
DRIVER = struct.Struct("=I32s32s32s32s32s12x5I")
LINK = struct.Struct("=8x3xB3xb32x")  # of a link's settings: autonegotiation, words of each mask
MASKS = 3  # supported, advertised, advertised by the other end
MOST = 16_384  # counters of one interface
# The kernel writes as many as there are by then, whatever it said before: room for a queue more.
SPARE = 512


class EthtoolLink(NamedTuple):
    """What a link can do and what it offers, as masks of ETHTOOL_LINK_MODE bits."""

    supported: int
    advertised: int
    autonegotiates: bool


class Ethtool(NamedTuple):
    """An interface's driver, its counters by name in the driver's order, and its link where it has one."""

    driver: str
    version: str
    firmware: str
    bus: str
    expansion_rom: str
    counters: dict[str, int]
    link: EthtoolLink | None


def ethtool(device: str) -> Ethtool:
    """Return the driver's data, or raise OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        answer = _ask(channel, device, DRIVER.pack(GET_DRIVER, b"", b"", b"", b"", b"", 0, 0, 0, 0, 0))
        _, *names, _flags, count, _tests, _eeprom, _registers = DRIVER.unpack(answer)
        texts = [name.partition(b"\0")[0].decode("utf-8", "replace") for name in names]
        driver, version, firmware, bus, rom = texts
        counters = _counters(channel, device, min(count, MOST))
        return Ethtool(driver, version, firmware, bus, rom, counters, _link(channel, device))


def _counters(channel: socket.socket, device: str, count: int) -> dict[str, int]:
    if not count:
        return {}
    room = count + SPARE
    head = struct.pack("=III", GET_STRINGS, STATS, count)
    names = _ask(channel, device, head + bytes(WORD * room))[len(head) :]
    numbers = _ask(channel, device, struct.pack("=II", GET_STATS, count) + bytes(8 * room))[8:]
    found: dict[str, int] = {}
    for place, value in enumerate(struct.unpack_from(f"={count}Q", numbers)):
        name = names[place * WORD : (place + 1) * WORD].partition(b"\0")[0]
        found.setdefault(name.decode("utf-8", "replace").strip(), value)
    return found


def _link(channel: socket.socket, device: str) -> EthtoolLink | None:
    """Return the link's settings; the kernel first says how long its masks are, as a negative number."""
    try:
        empty = struct.pack("=I", GET_LINK) + bytes(LINK.size - 4)
        _, words = LINK.unpack(_ask(channel, device, empty))
        if not 0 < -words < 64:
            return None
        question = bytearray(empty + bytes(4 * MASKS * -words))
        question[15] = -words
        answer = _ask(channel, device, bytes(question))
    except OSError:
        return None  # a tunnel or a loop has no link
    autonegotiates, words = LINK.unpack_from(answer)
    size = 4 * words
    supported, advertised = (
        int.from_bytes(answer[LINK.size + i * size :][:size], sys.byteorder) for i in range(2)
    )
    return EthtoolLink(supported, advertised, bool(autonegotiates))


def _ask(channel: socket.socket, device: str, question: bytes) -> bytes:
    name = os.fsencode(device)
    if len(name) > 15:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV), device)
    buffer = array.array("B", question)
    address, _ = buffer.buffer_info()
    fcntl.ioctl(channel, SIOCETHTOOL, struct.pack("16sP16x", name, address))
    return buffer.tobytes()
