"""Every PCI device with its link, power state and NUMA node, from /sys/bus/pci/devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vigie.model import Sample, gauge, info
from vigie.sources._attributes import read_label, read_measure
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

PLACE = ("segment", "bus", "device", "function")
PARENT = tuple(f"parent_{word}" for word in PLACE)
IDS = ("class_id", "vendor_id", "device_id", "subsystem_vendor_id", "subsystem_device_id", "revision")

METRICS = (
    INFO := info("node_pcidevice_info", "Which device it is, and what it hangs on.", *PLACE, *PARENT, *IDS),
    MAX_SPEED := gauge("node_pcidevice_max_link_transfers_per_second", "Highest speed of the link.", *PLACE),
    MAX_WIDTH := gauge("node_pcidevice_max_link_width", "Most lanes of the link.", *PLACE),
    SPEED := gauge("node_pcidevice_current_link_transfers_per_second", "Speed of the link now.", *PLACE),
    WIDTH := gauge("node_pcidevice_current_link_width", "Lanes of the link now.", *PLACE),
    POWER := gauge(
        "node_pcidevice_power_state", "1 for the power state that the device is in.", *PLACE, "state"
    ),
    D3COLD := gauge("node_pcidevice_d3cold_allowed", "1 if the device may be switched off.", *PLACE),
    AUTOPROBE := gauge(
        "node_pcidevice_sriov_drivers_autoprobe", "1 if virtual functions get their driver.", *PLACE
    ),
    FUNCTIONS := gauge("node_pcidevice_sriov_numvfs", "Virtual functions now.", *PLACE),
    MOST_FUNCTIONS := gauge("node_pcidevice_sriov_totalvfs", "Virtual functions there could be.", *PLACE),
    VECTORS := gauge("node_pcidevice_sriov_vf_total_msix", "MSI-X vectors for virtual functions.", *PLACE),
    NUMA := gauge("node_pcidevice_numa_node", "NUMA node that the device is next to.", *PLACE),
)

TOP = "bus/pci/devices"
ADDRESS = re.compile(r"^([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$")
ID_FILES = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device", "revision")
NUMBERS = (
    ("max_link_width", MAX_WIDTH),
    ("current_link_width", WIDTH),
    ("d3cold_allowed", D3COLD),
    ("sriov_drivers_autoprobe", AUTOPROBE),
    ("sriov_numvfs", FUNCTIONS),
    ("sriov_totalvfs", MOST_FUNCTIONS),
    ("sriov_vf_total_msix", VECTORS),
    ("numa_node", NUMA),
)
SPEEDS = (("max_link_speed", MAX_SPEED), ("current_link_speed", SPEED))
STATES = ("D0", "D1", "D2", "D3hot", "D3cold", "unknown", "error")
NO_PARENT = ("*",) * len(PLACE)
UNKNOWN_WIDTHS = (0, 255)  # of a device without a link


def read(host: Host) -> Iterator[Sample]:
    """Yield every device; what it lacks, such as a link, is left out."""
    names = host.sys.list_directory(TOP)
    if not names:
        raise Unavailable("there is no PCI bus on this machine")
    for name in names:
        address = ADDRESS.match(name)
        if address:
            yield from _device(host, f"{TOP}/{name}", address.groups())


def _device(host: Host, path: str, place: tuple[str, ...]) -> Iterator[Sample]:
    files = set(host.sys.list_names(path))
    ids = tuple(read_label(host, f"{path}/{file}") if file in files else "" for file in ID_FILES)
    yield INFO, (*place, *_parent(host, path), *ids), 1
    for file, metric in SPEEDS:
        if file in files:
            yield metric, place, _transfers(read_label(host, f"{path}/{file}"))
    for file, metric in NUMBERS:
        value = read_measure(host, f"{path}/{file}") if file in files else None
        unknown = value in UNKNOWN_WIDTHS if file.endswith("width") else value == -1
        yield metric, place, None if unknown else value
    if "power_state" in files:
        state = read_label(host, f"{path}/power_state")
        for each in STATES:
            yield POWER, (*place, each), int(each == state)


def _parent(host: Host, path: str) -> tuple[str, ...]:
    """Return the address of the bridge that the device is behind, by where its entry points."""
    try:
        parent = ADDRESS.match(host.sys.read_link(path).split("/")[-2])
    except (OSError, IndexError):
        parent = None
    return parent.groups() if parent else NO_PARENT


def _transfers(text: str) -> float | None:
    """Return the transfers a second of '16.0 GT/s PCIe'; None for 'Unknown'."""
    number, _, unit = text.partition(" ")
    try:
        return float(number) * 1e9 if unit.startswith("GT/s") else None
    except ValueError:
        return None


SOURCE = Source("pcidevice", METRICS, read, every=60, slow=True, default=False)
