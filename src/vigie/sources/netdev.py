"""Traffic and errors of every network interface, from /proc/net/dev and its sysfs statistics."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources._attributes import pattern
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, check_regex

# In the order of the file's columns, which is as old as Linux.
COLUMNS = (
    counter("node_network_receive_bytes_total", "Bytes that came in.", "device"),
    counter("node_network_receive_packets_total", "Packets that came in.", "device"),
    counter("node_network_receive_errs_total", "Bad packets that came in, of whatever sort.", "device"),
    counter(
        "node_network_receive_drop_total",
        "Good packets that were thrown away on the way in, for want of room or of a taker.",
        "device",
    ),
    counter("node_network_receive_fifo_total", "Times the receiving hardware queue overflowed.", "device"),
    counter(
        "node_network_receive_frame_total",
        "Packets that came in with a wrong length, checksum or alignment.",
        "device",
    ),
    counter("node_network_receive_compressed_total", "Compressed packets that came in.", "device"),
    counter("node_network_receive_multicast_total", "Multicast packets that came in.", "device"),
    counter("node_network_transmit_bytes_total", "Bytes that went out.", "device"),
    counter("node_network_transmit_packets_total", "Packets that went out.", "device"),
    counter("node_network_transmit_errs_total", "Packets that could not be sent for an error.", "device"),
    counter("node_network_transmit_drop_total", "Packets thrown away on the way out.", "device"),
    counter("node_network_transmit_fifo_total", "Times the sending hardware queue ran dry.", "device"),
    counter("node_network_transmit_colls_total", "Collisions seen while sending.", "device"),
    counter(
        "node_network_transmit_carrier_total",
        "Packets lost in sending because the link was gone or gave up.",
        "device",
    ),
    counter("node_network_transmit_compressed_total", "Compressed packets that went out.", "device"),
)
NOHANDLER = counter(
    "node_network_receive_nohandler_total",
    "Packets that came in on an interface that takes none, such as the idle half of a bond.",
    "device",
)
METRICS = (*COLUMNS, NOHANDLER)

EXCLUDE = SourceOption("exclude", "", "Interfaces that are left out, as a regular expression.", check_regex)


def read(host: Host) -> Iterator[Sample]:
    """Yield every counter of every interface that the operator did not exclude."""
    unwanted = pattern(host, EXCLUDE)
    for line in filter(None, host.proc.read("net/dev").split("\n")[2:]):
        name, _, rest = line.partition(":")
        name = name.strip()
        if unwanted.search(name):
            continue
        fields = rest.split()
        if len(fields) != len(COLUMNS) or "-" in rest or not name or "\0" in name:
            host.note(f"/proc/net/dev {name}", f"not a name and {len(COLUMNS)} counts")
            continue
        try:
            numbers = [int(field) for field in fields]
        except ValueError as error:
            host.note(f"/proc/net/dev {name}", error)
            continue
        label = (name,)
        for metric, number in zip(COLUMNS, numbers):
            yield metric, label, number
        yield NOHANDLER, label, host.sys.read_number(f"class/net/{name}/statistics/rx_nohandler")


SOURCE = Source("netdev", METRICS, read, options=(EXCLUDE,))
