"""State and settings of every network interface, from /sys/class/net."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample, counter, gauge, info
from vigie.sources._attributes import pattern
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source
from vigie.sources.netdev import EXCLUDE

METRICS = (
    UP := gauge("node_network_up", "1 for an interface that is operational, 0 for any other.", "device"),
    INFO := info(
        "node_network_info",
        "The addresses, alias and state of each interface.",
        "device",
        "address",
        "broadcast",
        "duplex",
        "operstate",
        "ifalias",
    ),
    SPEED := gauge("node_network_speed_bytes", "Bytes a second that the link was negotiated for.", "device"),
    ASSIGN := gauge(
        "node_network_address_assign_type",
        "Where the hardware address is from: 0 the device, 1 chance, 2 another device, 3 the operator.",
        "device",
    ),
    CARRIER := gauge("node_network_carrier", "1 where the other end of the link is felt.", "device"),
    CHANGES := counter("node_network_carrier_changes_total", "Times the link came or went.", "device"),
    CAME := counter("node_network_carrier_up_changes_total", "Times the link came.", "device"),
    WENT := counter("node_network_carrier_down_changes_total", "Times the link went.", "device"),
    DEVICE := gauge("node_network_device_id", "Tells apart ports that share one address.", "device"),
    DORMANT := gauge(
        "node_network_dormant", "1 for a link that waits for something else, such as 802.1X.", "device"
    ),
    FLAGS := gauge("node_network_flags", "The interface's flags, as a number.", "device"),
    INDEX := gauge("node_network_iface_id", "The kernel's number of the interface.", "device"),
    LINK := gauge("node_network_iface_link", "The number of the interface that this one is on.", "device"),
    MODE := gauge(
        "node_network_iface_link_mode", "0 for a link that starts by itself, 1 for a dormant one.", "device"
    ),
    MTU := gauge("node_network_mtu_bytes", "The largest packet that the interface takes.", "device"),
    NAMING := gauge(
        "node_network_name_assign_type",
        "How the name was given: 1 counted, 2 predictable, 3 by the operator, 4 renamed.",
        "device",
    ),
    GROUP := gauge("node_network_net_dev_group", "The operator's group of the interface.", "device"),
    TYPE := gauge("node_network_protocol_type", "The hardware type, as ARP numbers them.", "device"),
    QUEUE := gauge("node_network_transmit_queue_length", "Packets that may wait to be sent.", "device"),
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
LABELS = ("address", "broadcast", "duplex", "operstate", "ifalias")
FLAGS_ONLY = ("flags",)
ATTRIBUTES = (*LABELS, "speed", *(name for name in NUMBERS if name != "flags"))

MEGABIT = 125_000  # bytes
UNKNOWN_SPEEDS = ("-1", "4294967295")

# How the kernel says that an interface, or one that is down, has no such thing.
HAS_NONE = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV)


class Interface(NamedTuple):
    """What is remembered of an interface: what it said, what became of that, what it refused."""

    texts: dict[str, str]
    samples: list[Sample]
    refused: list[str]


UNKNOWN = Interface({}, [], [])


def read(host: Host) -> Iterator[Sample]:
    unwanted = pattern(host, EXCLUDE)
    known: dict[str, Interface] = host.cache.get("interfaces", {})
    now = host.cache["interfaces"] = {}
    for name in host.sys.list_directory("class/net"):
        if name != "bonding_masters" and not unwanted.search(name):
            now[name] = _looked_at(host, name, known.get(name, UNKNOWN))
            yield from now[name].samples


def _looked_at(host: Host, name: str, before: Interface) -> Interface:
    path = f"class/net/{name}/"
    texts, refused = _texts(host, path, before)
    if texts == before.texts:
        return before._replace(refused=refused)
    notes = len(host.notes)
    samples = list(_interface(host, name, path, dict(texts)))
    # What was garbled is spelled out again at the next read, so that it stays noted.
    return Interface(texts if len(host.notes) == notes else {}, samples, refused)


def _interface(host: Host, name: str, path: str, texts: dict[str, str]) -> Iterator[Sample]:
    if not texts:
        return
    device = (name,)
    if "operstate" in texts:
        yield UP, device, int(texts["operstate"] == "up")
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


def _texts(host: Host, path: str, before: Interface) -> tuple[dict[str, str], list[str]]:
    """Return the attributes that the interface has, and those that it refused to tell."""
    flags, errors = host.sys.read_texts(path, FLAGS_ONLY)
    # The kernel refuses speed, carrier and the like of an interface that is down or has none; it goes
    # on to do so until the flags change.
    refused = before.refused if flags.get("flags") == before.texts.get("flags") else []
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
