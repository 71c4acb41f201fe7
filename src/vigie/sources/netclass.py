"""State and settings of network interfaces, from /sys/class/net."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample, counter, gauge, info
from vigie.sources._attributes import compile_option
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.netdev import EXCLUDE

METRICS = (
    UP := gauge("node_network_up", "1 if the operational state is up, 0 otherwise.", "device"),
    INFO := info(
        "node_network_info",
        "Addresses, alias and state of the interface.",
        "device",
        "address",
        "broadcast",
        "duplex",
        "operstate",
        "adminstate",
        "ifalias",
    ),
    SPEED := gauge("node_network_speed_bytes", "Negotiated speed in bytes per second.", "device"),
    ASSIGN := gauge(
        "node_network_address_assign_type",
        "Origin of the address: 0 permanent, 1 random, 2 another device, 3 set.",
        "device",
    ),
    CARRIER := gauge("node_network_carrier", "1 if the link has a carrier.", "device"),
    CHANGES := counter("node_network_carrier_changes_total", "Carrier changes.", "device"),
    CAME := counter("node_network_carrier_up_changes_total", "Times the carrier came up.", "device"),
    WENT := counter("node_network_carrier_down_changes_total", "Times the carrier went down.", "device"),
    DEVICE := gauge("node_network_device_id", "Distinguishes ports that share an address.", "device"),
    DORMANT := gauge("node_network_dormant", "1 if the link is dormant, such as with 802.1X.", "device"),
    FLAGS := gauge("node_network_flags", "Flags of the interface, as a number.", "device"),
    INDEX := gauge("node_network_iface_id", "Index of the interface.", "device"),
    LINK := gauge("node_network_iface_link", "Index of the underlying interface.", "device"),
    MODE := gauge("node_network_iface_link_mode", "Link mode: 0 default, 1 dormant.", "device"),
    MTU := gauge("node_network_mtu_bytes", "MTU in bytes.", "device"),
    NAMING := gauge(
        "node_network_name_assign_type",
        "Origin of the name: 1 enumerated, 2 predictable, 3 user, 4 renamed.",
        "device",
    ),
    GROUP := gauge("node_network_net_dev_group", "Group of the interface.", "device"),
    TYPE := gauge("node_network_protocol_type", "Hardware type as an ARP protocol number.", "device"),
    QUEUE := gauge(
        "node_network_transmit_queue_length", "Length of the transmit queue in packets.", "device"
    ),
)

NUMBERS = {
    "addr_assign_type": ASSIGN,
    "carrier": CARRIER,
    "carrier_changes": CHANGES,
    "carrier_down_count": WENT,
    "carrier_up_count": CAME,
    "dev_id": DEVICE,
    "dormant": DORMANT,
    "flags": FLAGS,
    "ifindex": INDEX,
    "iflink": LINK,
    "link_mode": MODE,
    "mtu": MTU,
    "name_assign_type": NAMING,
    "netdev_group": GROUP,
    "tx_queue_len": QUEUE,
    "type": TYPE,
}
LABELS = ("address", "broadcast", "duplex", "operstate", "adminstate", "ifalias")
IFF_UP = 1
FLAGS_ONLY = ("flags",)
ATTRIBUTES = (
    *(name for name in LABELS if name != "adminstate"),
    "speed",
    *(name for name in NUMBERS if name != "flags"),
)

MEGABIT = 125_000  # bytes
UNKNOWN_SPEEDS = ("-1", "4294967295")

# How the kernel reports that an interface has no such attribute.
HAS_NONE = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV)


class Interface(NamedTuple):
    """Cached attributes of an interface, their samples, and unreadable attributes."""

    texts: dict[str, str]
    samples: list[Sample]
    unreadable: list[str]


UNKNOWN = Interface({}, [], [])


def read(host: Host) -> Iterator[Sample]:
    unwanted = compile_option(host, EXCLUDE)
    known: dict[str, Interface] = host.cache.get("interfaces", {})
    now = host.cache["interfaces"] = {}
    for name in host.sys.list_directory("class/net"):
        if name != "bonding_masters" and not unwanted.search(name):
            now[name] = _refresh(host, name, known.get(name, UNKNOWN))
            yield from now[name].samples


def _refresh(host: Host, name: str, before: Interface) -> Interface:
    path = f"class/net/{name}/"
    texts, refused = _read_attributes(host, path, before)
    if texts == before.texts:
        return before._replace(unreadable=refused)
    notes = len(host.notes)
    samples = list(_build_samples(host, name, path, dict(texts)))
    # Invalid attributes are parsed again at the next read, so that they stay noted.
    return Interface(texts if len(host.notes) == notes else {}, samples, refused)


def _build_samples(host: Host, name: str, path: str, texts: dict[str, str]) -> Iterator[Sample]:
    if not texts:
        return
    device = (name,)
    if "operstate" in texts:
        yield UP, device, int(texts["operstate"] == "up")
    texts["adminstate"] = _admin_state(texts.get("flags", ""))
    yield INFO, (name, *[texts.pop(label, "") for label in LABELS]), 1
    speed = texts.pop("speed", "")
    if speed and speed not in UNKNOWN_SPEEDS:
        texts["speed"] = speed
    for attribute, text in texts.items():
        try:
            value = int(text, 16) if text.startswith("0x") else int(text)
        except ValueError as error:
            host.note(f"/sys/{path}{attribute}", error)
            continue
        if attribute == "speed":
            yield SPEED, device, value * MEGABIT
        else:
            yield NUMBERS[attribute], device, value


def _admin_state(flags: str) -> str:
    """Return the administrative state, empty if the flags are invalid."""
    try:
        return "up" if int(flags, 16) & IFF_UP else "down"
    except ValueError:
        return ""


def _read_attributes(host: Host, path: str, before: Interface) -> tuple[dict[str, str], list[str]]:
    """Return the readable attributes, and the unreadable ones."""
    flags, errors = host.sys.read_texts(path, FLAGS_ONLY)
    # The kernel rejects speed, carrier and others while an interface is down, until its flags
    # change.
    refused = before.unreadable if flags.get("flags") == before.texts.get("flags") else []
    wanted = [name for name in ATTRIBUTES if name not in refused] if refused else ATTRIBUTES
    texts, more = host.sys.read_texts(path, wanted)
    errors.update(more)
    refused = list(refused)
    for attribute, error in errors.items():
        if error.errno not in HAS_NONE:
            host.note(f"/sys/{path}{attribute}", error)
        elif error.errno == errno.EINVAL:
            refused.append(attribute)
    texts.update(flags)
    return texts, refused


SOURCE = Source("netclass", METRICS, read, options=(EXCLUDE,))
