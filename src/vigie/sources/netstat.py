"""IP, ICMP, TCP and UDP counters, from /proc/net/netstat, snmp and snmp6."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, untyped
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    untyped("node_netstat_TcpExt_ListenDrops", "Connections dropped by listening sockets."),
    untyped("node_netstat_TcpExt_ListenOverflows", "Accept queue overflows of listening sockets."),
    untyped("node_netstat_TcpExt_SyncookiesSent", "SYN cookies sent."),
    untyped("node_netstat_TcpExt_SyncookiesRecv", "Valid SYN cookies received."),
    untyped("node_netstat_TcpExt_SyncookiesFailed", "Invalid SYN cookies received."),
    untyped("node_netstat_TcpExt_TCPSynRetrans", "SYN and SYN/ACK retransmissions."),
    untyped("node_netstat_TcpExt_TCPTimeouts", "TCP timeouts."),
    untyped("node_netstat_TcpExt_TCPOFOQueue", "TCP packets queued out of order."),
    untyped("node_netstat_TcpExt_TCPRcvQDrop", "TCP packets dropped because the receive queue was full."),
    untyped("node_netstat_IpExt_InOctets", "IPv4 bytes received."),
    untyped("node_netstat_IpExt_OutOctets", "IPv4 bytes sent."),
    untyped("node_netstat_Ip_Forwarding", "1 if IPv4 forwarding is enabled, 2 if not."),
    untyped("node_netstat_Icmp_InMsgs", "ICMP messages received."),
    untyped("node_netstat_Icmp_InErrors", "ICMP messages received with errors."),
    untyped("node_netstat_Icmp_OutMsgs", "ICMP messages sent."),
    untyped("node_netstat_Tcp_ActiveOpens", "Active TCP opens."),
    untyped("node_netstat_Tcp_PassiveOpens", "Passive TCP opens."),
    untyped("node_netstat_Tcp_CurrEstab", "Established TCP connections."),
    untyped("node_netstat_Tcp_InSegs", "TCP segments received, including erroneous ones."),
    untyped("node_netstat_Tcp_OutSegs", "TCP segments sent, without retransmissions."),
    untyped("node_netstat_Tcp_RetransSegs", "TCP segments retransmitted."),
    untyped("node_netstat_Tcp_InErrs", "TCP segments received with errors."),
    untyped("node_netstat_Tcp_OutRsts", "TCP segments sent with RST."),
    untyped("node_netstat_Tcp_MaxConn", "Maximum number of TCP connections, -1 if unlimited."),
    untyped("node_netstat_Udp_InDatagrams", "UDP datagrams received."),
    untyped("node_netstat_Udp_OutDatagrams", "UDP datagrams sent."),
    untyped("node_netstat_Udp_NoPorts", "UDP datagrams received for a closed port."),
    untyped("node_netstat_Udp_InErrors", "UDP datagrams received with errors."),
    untyped("node_netstat_Udp_RcvbufErrors", "UDP datagrams dropped because the receive buffer was full."),
    untyped("node_netstat_Udp_SndbufErrors", "UDP datagrams dropped because the send buffer was full."),
    untyped("node_netstat_UdpLite_InErrors", "UDP-Lite datagrams received with errors."),
    untyped("node_netstat_Ip6_InOctets", "IPv6 bytes received."),
    untyped("node_netstat_Ip6_OutOctets", "IPv6 bytes sent."),
    untyped("node_netstat_Icmp6_InMsgs", "ICMPv6 messages received."),
    untyped("node_netstat_Icmp6_InErrors", "ICMPv6 messages received with errors."),
    untyped("node_netstat_Icmp6_OutMsgs", "ICMPv6 messages sent."),
    untyped("node_netstat_Udp6_InDatagrams", "UDP datagrams received over IPv6."),
    untyped("node_netstat_Udp6_NoPorts", "UDP datagrams received over IPv6 for a closed port."),
    untyped("node_netstat_Udp6_InErrors", "UDP datagrams received over IPv6 with errors."),
    untyped("node_netstat_Udp6_OutDatagrams", "UDP datagrams sent over IPv6."),
    untyped(
        "node_netstat_Udp6_RcvbufErrors",
        "UDP datagrams over IPv6 dropped because the receive buffer was full.",
    ),
    untyped(
        "node_netstat_Udp6_SndbufErrors", "UDP datagrams over IPv6 dropped because the send buffer was full."
    ),
    untyped("node_netstat_UdpLite6_InErrors", "UDP-Lite datagrams received over IPv6 with errors."),
)

PREFIX = "node_netstat_"
WORDS = {metric: metric.name[len(PREFIX) :].split("_") for metric in METRICS}
BY_FIELD = {(protocol, field): metric for metric, (protocol, field) in WORDS.items() if "6" not in protocol}
PROTOCOLS = {protocol for protocol, _ in BY_FIELD}
# In the order of the file.
SNMP6 = [("\n" + protocol + field, metric) for metric, (protocol, field) in WORDS.items() if "6" in protocol]

Places = tuple[str, int, list[tuple[int, Metric]]]


def read(host: Host) -> Iterator[Sample]:
    """Yield the wanted fields of the three files. A missing file affects only itself."""
    texts = [host.proc.read_text(path) for path in ("net/netstat", "net/snmp", "net/snmp6")]
    if not any(texts):
        raise Unavailable("cannot read /proc/net/netstat, snmp or snmp6")
    for text in texts[:2]:
        lines = (text or "").split("\n")
        # A line of names is followed by a line of numbers with the same protocol.
        for names, numbers in zip(lines, lines[1:]):
            protocol, colon, _ = names.partition(":")
            if protocol in PROTOCOLS and numbers.startswith(protocol + colon):
                yield from _parse_fields(host, protocol, names, numbers.split())
    yield from _parse_snmp6(host, texts[2] or "")


def _parse_fields(host: Host, protocol: str, names: str, numbers: list[str]) -> Iterator[Sample]:
    known: dict[str, Places] = host.cache
    if protocol not in known or known[protocol][0] != names:
        fields = names.split()
        wanted = [(i, BY_FIELD[protocol, f]) for i, f in enumerate(fields) if (protocol, f) in BY_FIELD]
        known[protocol] = names, len(fields), wanted
    _, count, places = known[protocol]
    if len(numbers) != count:
        host.note(f"/proc/net {protocol}", f"{count} names, but {len(numbers)} numbers")
        return
    for i, metric in places:
        try:
            number = int(numbers[i])
        except ValueError as error:
            host.note(f"/proc/net {metric.name[len(PREFIX) :]}", error)
            continue
        yield metric, (), number


def _parse_snmp6(host: Host, text: str) -> Iterator[Sample]:
    # Each line is a name, blanks and a number. Searching for a few is faster than splitting all.
    text = f"\n{text}\n"
    end = 0
    for name, metric in SNMP6:
        start = text.find(name, end)
        if start < 0:
            start = text.find(name)  # another kernel, another order
        if start < 0:
            continue
        end = text.index("\n", start + 1)
        try:
            number = int(text[start + len(name) : end])
        except ValueError as error:
            host.note(f"/proc/net/snmp6 {name.strip()}", error)
            continue
        yield metric, (), number


SOURCE = Source("netstat", METRICS, read)
