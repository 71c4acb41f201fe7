"""UDP socket queues, from /proc/net/udp and udp6."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    QUEUES := gauge(
        "node_udp_queues", "Bytes in the receive and transmit queues of UDP sockets.", "queue", "ip"
    ),
)

# An address is followed by a port of four digits, so only queues match.
EMPTY = " 00000000:00000000 "
QUEUE_COLUMN = 4


def read(host: Host) -> Iterator[Sample]:
    """Yield both queues. A kernel without IPv6 has no second file."""
    yield from _sum_queues(host, "v4", "net/udp", host.proc.read_short("net/udp"))
    try:
        six = host.proc.read_short("net/udp6")
    except OSError as error:
        host.proc.note_error("net/udp6", error)
    else:
        yield from _sum_queues(host, "v6", "net/udp6", six)


def _sum_queues(host: Host, ip: str, path: str, text: str) -> Iterator[Sample]:
    sent = received = 0
    for line in filter(None, text.split("\n")[1:]):
        if EMPTY in line:
            continue
        try:
            out, back = _parse_pair(line)
        except (ValueError, IndexError):
            host.note(f"/proc/{path}", f"line without queues: {line[:60]!r}")
            continue
        sent += out
        received += back
    yield QUEUES, ("tx", ip), sent
    yield QUEUES, ("rx", ip), received


def _parse_pair(line: str) -> tuple[int, int]:
    out, back = line.split(None, QUEUE_COLUMN + 1)[QUEUE_COLUMN].split(":")
    return int(out, 16), int(back, 16)


SOURCE = Source("udp_queues", METRICS, read)
