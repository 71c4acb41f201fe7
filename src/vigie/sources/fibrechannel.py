"""Fibre Channel ports and what they counted, from /sys/class/fc_host."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, info
from vigie.sources._attributes import read_label
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import LIMIT, to_printable

# The file of a counter, what the metric adds to node_fibrechannel_, and what it counts.
COUNTERS = {
    file: counter(f"node_fibrechannel_{name}_total", meaning, "fc_host")
    for file, name, meaning in (
        ("dumped_frames", "dumped_frames", "Frames dropped for want of buffers."),
        ("error_frames", "error_frames", "Frames that came with errors."),
        ("invalid_crc_count", "invalid_crc", "Frames whose checksum was wrong."),
        ("rx_frames", "rx_frames", "Frames received."),
        ("rx_words", "rx_words", "Words received."),
        ("tx_frames", "tx_frames", "Frames sent."),
        ("tx_words", "tx_words", "Words sent."),
        ("seconds_since_last_reset", "seconds_since_last_reset", "Seconds since the port was reset."),
        ("invalid_tx_word_count", "invalid_tx_words", "Words received that were not valid."),
        ("link_failure_count", "link_failure", "Times the link failed."),
        ("loss_of_sync_count", "loss_of_sync", "Times synchronization was lost."),
        ("loss_of_signal_count", "loss_of_signal", "Times the signal was lost."),
        ("nos_count", "nos", "Not-operational sequences received."),
        ("fcp_packet_aborts", "fcp_packet_aborts", "Packets that were aborted."),
    )
}
TEXTS = (
    *("speed", "port_state", "port_type", "port_id", "port_name", "fabric_name", "symbolic_name"),
    *("supported_classes", "supported_speeds", "dev_loss_tmo"),
)
METRICS = (
    INFO := info(
        "node_fibrechannel_info",
        "Which port it is, what it is connected to, and at which speed.",
        *("fc_host", *TEXTS),
    ),
    *COUNTERS.values(),
)

CLASS = "class/fc_host"
NOT_COUNTED = LIMIT - 1  # how an adapter says that it does not count this
HEX = ("port_id", "port_name", "fabric_name")


def read(host: Host) -> Iterator[Sample]:
    """Yield every port."""
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("there is no Fibre Channel adapter on this machine")
    for name in names:
        path, device = f"{CLASS}/{name}/", (to_printable(name),)
        texts = {text: read_label(host, path + text) for text in TEXTS}
        texts.update({text: texts[text].removeprefix("0x") for text in HEX})
        yield INFO, (*device, *texts.values()), 1
        for file, metric in COUNTERS.items():
            yield metric, device, _count(host, f"{path}statistics/{file}")


def _count(host: Host, path: str) -> int | None:
    """Return a count, which the kernel spells in hexadecimal; None when it cannot be had."""
    text = host.sys.read_text(path)
    if text is None:
        return None
    try:
        value = int(text, 16)
    except ValueError as error:
        host.note(f"/sys/{path}", error)
        return None
    return value if 0 <= value < NOT_COUNTED else None


SOURCE = Source("fibrechannel", METRICS, read)
