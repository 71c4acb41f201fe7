"""Which user of this machine is at the other end of a local TCP connection."""

from __future__ import annotations

import ipaddress
import struct

_TABLES = {4: "/proc/net/tcp", 6: "/proc/net/tcp6"}
MAX_LINES = 200_000
UNKNOWN_UID = -1  # a local caller that has gone already: it may do nothing

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def find_peer_uid(peer: tuple[object, ...], own: tuple[object, ...]) -> int | None:
    """Return the uid that opened the connection, UNKNOWN_UID where that cannot be told; None from afar."""
    client, server = _parse(peer[0]), _parse(own[0])
    wanted = (_encode(client, peer[1]), _encode(server, own[1]))
    uid = _find_in_table(_TABLES[client.version], wanted)
    if uid is None and (client.is_loopback or client == server):
        return UNKNOWN_UID
    return uid


def _find_in_table(table: str, wanted: tuple[str, str]) -> int | None:
    try:
        with open(table) as lines:
            for _, line in zip(range(MAX_LINES), lines, strict=False):
                fields = line.split()
                if len(fields) > 7 and (fields[1], fields[2]) == wanted:
                    return int(fields[7])
    except OSError:
        return None
    return None


def _parse(address: object) -> Address:
    parsed = ipaddress.ip_address(str(address).split("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed  # a caller by IPv4 stands in that table, whatever we listen with


def _encode(address: Address, port: object) -> str:
    """Return an address as the kernel's table has it: words in the machine's own order."""
    packed = address.packed
    words = struct.unpack(f">{len(packed) // 4}I", packed)
    swapped = struct.unpack(f">{len(words)}I", struct.pack(f"={len(words)}I", *words))
    return "".join(f"{word:08X}" for word in swapped) + f":{int(str(port)):04X}"
