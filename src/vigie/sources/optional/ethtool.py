"""Counters of network drivers (PFC, pause frames, queues) and what each link can do, by ethtool's ioctl."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

from vigie.model import Metric, Sample, gauge, info, untyped
from vigie.sources._attributes import AttributeFamily, compile_option
from vigie.sources.core.ethtool import Ethtool, EthtoolLink
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable, check_regex
from vigie.sources.core.tree import to_printable

# Counters whose name is not spelled by rule.
USUAL = {
    "rx_bytes": untyped("node_ethtool_received_bytes_total", "Bytes received.", "device"),
    "rx_dropped": untyped("node_ethtool_received_dropped_total", "Frames received and dropped.", "device"),
    "rx_errors": untyped("node_ethtool_received_errors_total", "Frames received with errors.", "device"),
    "rx_packets": untyped("node_ethtool_received_packets_total", "Packets received.", "device"),
    "tx_bytes": untyped("node_ethtool_transmitted_bytes_total", "Bytes sent.", "device"),
    "tx_errors": untyped("node_ethtool_transmitted_errors_total", "Frames not sent for errors.", "device"),
    "tx_packets": untyped("node_ethtool_transmitted_packets_total", "Packets sent.", "device"),
}
METRICS = (
    INFO := info(
        "node_ethtool_info",
        "The interface's driver and firmware.",
        *("bus_info", "device", "driver", "expansion_rom_version", "firmware_version", "version"),
    ),
    *USUAL.values(),
    OTHER := untyped("node_ethtool_*", "What the driver counts as *.", "device"),
    PORT := info("node_network_supported_port_info", "Kinds of port that there are.", "device", "type"),
    SPEED := gauge(
        "node_network_supported_speed_bytes",
        "Bytes a second of each mode that the link can be in.",
        *("device", "duplex", "mode"),
    ),
    AUTO := gauge("node_network_autonegotiate_supported", "1 if the link can be negotiated.", "device"),
    PAUSE := gauge("node_network_pause_supported", "1 if pause frames are understood.", "device"),
    ASYMMETRIC := gauge(
        "node_network_asymmetricpause_supported", "1 if pause frames can go one way only.", "device"
    ),
    OFFERED_SPEED := gauge(
        "node_network_advertised_speed_bytes",
        "Bytes a second of each mode that is offered to the other end.",
        *("device", "duplex", "mode"),
    ),
    OFFERED_AUTO := gauge("node_network_autonegotiate_advertised", "1 if negotiation is offered.", "device"),
    OFFERED_PAUSE := gauge("node_network_pause_advertised", "1 if pause frames are offered.", "device"),
    OFFERED_ASYMMETRIC := gauge(
        "node_network_asymmetricpause_advertised", "1 if pause frames one way only are offered.", "device"
    ),
    NEGOTIATES := gauge("node_network_autonegotiate", "1 if the link is negotiated.", "device"),
)

INCLUDE = SourceOption(
    "include", ".*", "Counters to report, as a regular expression. Default: all.", check_regex
)
EXCLUDE = SourceOption(
    "exclude", "", "Interfaces to skip, as a regular expression. Default: none.", check_regex
)

UNFIT = re.compile(r"_*[^0-9A-Za-z_]+_*")
RECEIVED, SENT = re.compile(r"(^|_)rx(_|$)"), re.compile(r"(^|_)tx(_|$)")
HAS_NONE = (errno.EOPNOTSUPP, errno.ENODEV, errno.ENOENT)

# The kernel's link modes (ETHTOOL_LINK_MODE_*), in the order of their bits; the speed is in Mbit/s.
NAMES = """
10baseT/Half 10baseT/Full 100baseT/Half 100baseT/Full 1000baseT/Half 1000baseT/Full Autoneg TP AUI MII FIBRE
BNC 10000baseT/Full Pause Asym_Pause 2500baseX/Full Backplane 1000baseKX/Full 10000baseKX4/Full
10000baseKR/Full 10000baseR_FEC 20000baseMLD2/Full 20000baseKR2/Full 40000baseKR4/Full 40000baseCR4/Full
40000baseSR4/Full 40000baseLR4/Full 56000baseKR4/Full 56000baseCR4/Full 56000baseSR4/Full 56000baseLR4/Full
25000baseCR/Full 25000baseKR/Full 25000baseSR/Full 50000baseCR2/Full 50000baseKR2/Full 100000baseKR4/Full
100000baseSR4/Full 100000baseCR4/Full 100000baseLR4_ER4/Full 50000baseSR2/Full 1000baseX/Full
10000baseCR/Full 10000baseSR/Full 10000baseLR/Full 10000baseLRM/Full 10000baseER/Full 2500baseT/Full
5000baseT/Full FEC_NONE FEC_RS FEC_BASER 50000baseKR/Full 50000baseSR/Full 50000baseCR/Full
50000baseLR_ER_FR/Full 50000baseDR/Full 100000baseKR2/Full 100000baseSR2/Full 100000baseCR2/Full
100000baseLR2_ER2_FR2/Full 100000baseDR2/Full 200000baseKR4/Full 200000baseSR4/Full
200000baseLR4_ER4_FR4/Full 200000baseDR4/Full 200000baseCR4/Full 100baseT1/Full 1000baseT1/Full
400000baseKR8/Full 400000baseSR8/Full 400000baseLR8_ER8_FR8/Full 400000baseDR8/Full 400000baseCR8/Full
FEC_LLRS 100000baseKR/Full 100000baseSR/Full 100000baseLR_ER_FR/Full 100000baseCR/Full 100000baseDR/Full
200000baseKR2/Full 200000baseSR2/Full 200000baseLR2_ER2_FR2/Full 200000baseDR2/Full 200000baseCR2/Full
400000baseKR4/Full 400000baseSR4/Full 400000baseLR4_ER4_FR4/Full 400000baseDR4/Full 400000baseCR4/Full
100baseFX/Half 100baseFX/Full 10baseT1L/Full 800000baseCR8/Full 800000baseKR8/Full 800000baseDR8/Full
800000baseDR8_2/Full 800000baseSR8/Full 800000baseVR8/Full
"""
MODES = NAMES.split()
PORTS = ("TP", "AUI", "MII", "FIBRE", "BNC", "Backplane")
MEGABIT = 125_000  # bytes


def read(host: Host) -> Iterator[Sample]:
    """Yield every interface whose driver supports ethtool."""
    unwanted, found = compile_option(host, EXCLUDE), False
    for device in host.sys.list_directory("class/net"):
        if device == "bonding_masters" or unwanted.search(device):
            continue
        try:
            answer = host.calls.ethtool(device)
        except OSError as error:
            if error.errno not in HAS_NONE:
                host.note(device, error)
            continue
        found = True
        yield from _interface(host, to_printable(device), answer)
    if not found:
        raise Unavailable("no interface supports ethtool")


def _interface(host: Host, device: str, answer: Ethtool) -> Iterator[Sample]:
    facts = (answer.bus, device, answer.driver, answer.expansion_rom, answer.firmware, answer.version)
    yield INFO, facts, 1
    if answer.link:
        yield from _link(device, answer.link)
    wanted = compile_option(host, INCLUDE)
    names: dict[str, Metric | None] = host.cache.setdefault("names", {})
    family: AttributeFamily = host.cache.setdefault("family", AttributeFamily(OTHER))
    if len(names) > len(answer.counters) * 64:
        names.clear()  # of interfaces that are gone
    for name, value in answer.counters.items():
        if name not in names:
            names[name] = (USUAL.get(name) or family[spell(name)]) if wanted.search(name) else None
        metric = names[name]
        if metric:
            yield metric, (device,), value


def _link(device: str, link: EthtoolLink) -> Iterator[Sample]:
    can, offers = set(_modes(link.supported)), set(_modes(link.advertised))
    yield from ((PORT, (device, port), 1) for port in PORTS if port in can)
    for modes, speed, auto, pause, asymmetric in (
        (can, SPEED, AUTO, PAUSE, ASYMMETRIC),
        (offers, OFFERED_SPEED, OFFERED_AUTO, OFFERED_PAUSE, OFFERED_ASYMMETRIC),
    ):
        for mode in sorted(modes):
            name, slash, duplex = mode.partition("/")
            if slash:
                yield speed, (device, duplex.lower(), name), int(name.partition("base")[0]) * MEGABIT
        yield auto, (device,), int("Autoneg" in modes)
        yield pause, (device,), int("Pause" in modes)
        yield asymmetric, (device,), int("Asym_Pause" in modes)
    yield NEGOTIATES, (device,), int(link.autonegotiates)


def _modes(mask: int) -> Iterator[str]:
    return (mode for bit, mode in enumerate(MODES) if mask >> bit & 1)


def spell(counter: str) -> str:
    """Return a driver's name of a counter as node exporter spells it.

    >>> spell("rx_prio0_pause"), spell("Tx Pause Frames")
    ('received_prio0_pause', 'transmitted_pause_frames')
    """
    name = UNFIT.sub("_", counter).lower().lstrip("_")
    return SENT.sub(r"\1transmitted\2", RECEIVED.sub(r"\1received\2", name))


SOURCE = Source("ethtool", METRICS, read, slow=True, default=False, options=(INCLUDE, EXCLUDE))
