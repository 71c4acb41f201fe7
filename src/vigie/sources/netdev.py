"""Traffic and errors of network interfaces, from /proc/net/dev and sysfs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources._attributes import compile_option
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, check_regex

# In the order of the file's columns.
COLUMNS = (
    counter("node_network_receive_bytes_total", "Bytes received.", "device"),
    counter("node_network_receive_packets_total", "Packets received.", "device"),
    counter("node_network_receive_errs_total", "Receive errors.", "device"),
    counter(
        "node_network_receive_drop_total",
        "Received packets dropped.",
        "device",
    ),
    counter("node_network_receive_fifo_total", "Receive FIFO errors.", "device"),
    counter(
        "node_network_receive_frame_total",
        "Receive frame errors: length, checksum or alignment.",
        "device",
    ),
    counter("node_network_receive_compressed_total", "Compressed packets received.", "device"),
    counter("node_network_receive_multicast_total", "Multicast packets received.", "device"),
    counter("node_network_transmit_bytes_total", "Bytes sent.", "device"),
    counter("node_network_transmit_packets_total", "Packets sent.", "device"),
    counter("node_network_transmit_errs_total", "Transmit errors.", "device"),
    counter("node_network_transmit_drop_total", "Packets dropped while sending.", "device"),
    counter("node_network_transmit_fifo_total", "Transmit FIFO errors.", "device"),
    counter("node_network_transmit_colls_total", "Collisions.", "device"),
    counter(
        "node_network_transmit_carrier_total",
        "Carrier losses while sending.",
        "device",
    ),
    counter("node_network_transmit_compressed_total", "Compressed packets sent.", "device"),
)
NOHANDLER = counter(
    "node_network_receive_nohandler_total",
    "Packets received on an inactive interface, such as the backup of a bond.",
    "device",
)
METRICS = (*COLUMNS, NOHANDLER)

EXCLUDE = SourceOption("exclude", "", "Interfaces to exclude, as a regular expression.", check_regex)


def read(host: Host) -> Iterator[Sample]:
    """Yield the counters of every interface that is not excluded."""
    unwanted = compile_option(host, EXCLUDE)
    for line in filter(None, host.proc.read("net/dev").split("\n")[2:]):
        name, _, rest = line.partition(":")
        name = name.strip()
        if unwanted.search(name):
            continue
        fields = rest.split()
        if len(fields) != len(COLUMNS) or "-" in rest or not name or "\0" in name:
            host.note(f"/proc/net/dev {name}", f"expected a name and {len(COLUMNS)} counters")
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
