"""TCP connections by state, from /proc/net/tcp and tcp6."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    STATES := gauge(
        "node_tcp_connection_states",
        "TCP sockets by state. rx_queued_bytes and tx_queued_bytes: bytes in the queues of connections.",
        "state",
    ),
)

# States are numbered from 1, in this order.
NAMES = (
    "established",
    "syn_sent",
    "syn_recv",
    "fin_wait1",
    "fin_wait2",
    "time_wait",
    "close",
    "close_wait",
    "last_ack",
    "listen",
    "closing",
)
NAME = {f"{number:02X}": name for number, name in enumerate(NAMES, 1)}
TX, RX = "tx_queued_bytes", "rx_queued_bytes"

# These columns of a listening socket count connections, not bytes. Most others are empty.
EMPTY = "00000000:00000000"
LISTEN = "0A"

MAX_SOCKETS = 20_000


def read(host: Host) -> Iterator[Sample]:
    """Yield the sockets by state, unless there are too many."""
    sockets = _count_sockets(host)
    if sockets > MAX_SOCKETS:
        raise Unavailable(f"{sockets} TCP sockets exceed the limit of {MAX_SOCKETS}")
    counts = dict.fromkeys((*NAMES, TX, RX), 0)
    _add_file(host, "net/tcp", host.proc.read_short("net/tcp"), counts)
    _add_file(host, "net/tcp6", host.proc.read_text("net/tcp6") or "", counts)
    for state, count in counts.items():
        yield STATES, (state,), count


def _count_sockets(host: Host) -> int:
    """Return the number of TCP sockets in both files, or 0 if unknown."""
    for line in (host.proc.read_text("net/sockstat") or "").split("\n"):
        if line.startswith("TCP:"):
            words = line.split()
            figures = dict(zip(words[1::2], words[2::2]))
            try:
                return int(figures["alloc"]) + int(figures["tw"])
            except (KeyError, ValueError):
                host.note("/proc/net/sockstat", f"no number of TCP sockets: {line!r}")
    return 0


def _add_file(host: Host, path: str, text: str, counts: dict[str, int]) -> None:
    for line in filter(None, text.split("\n")[1:]):
        try:
            _, _, _, state, queues, _ = line.split(None, 5)
            name = NAME[state]
            sent, received = (0, 0) if queues == EMPTY or state == LISTEN else _sum_queues(queues)
        except (KeyError, ValueError):
            host.note(f"/proc/{path}", f"line without state or queues: {line[:60]!r}")
            continue
        counts[name] += 1
        counts[TX] += sent
        counts[RX] += received


def _sum_queues(queues: str) -> tuple[int, int]:
    sent, received = queues.split(":")
    return int(sent, 16), int(received, 16)


SOURCE = Source("tcpstat", METRICS, read, slow=True, every=60)
