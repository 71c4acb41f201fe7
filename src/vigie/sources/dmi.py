"""Vendor, model and firmware of the machine, from /sys/class/dmi/id."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, info
from vigie.sources._attributes import read_label
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

LABELS = (
    *("bios_date", "bios_release", "bios_vendor", "bios_version"),
    *("board_asset_tag", "board_name", "board_serial", "board_vendor", "board_version"),
    *("chassis_asset_tag", "chassis_serial", "chassis_vendor", "chassis_version"),
    *("product_family", "product_name", "product_serial", "product_sku", "product_uuid", "product_version"),
    "system_vendor",
)
METRICS = (INFO := info("node_dmi_info", "DMI information about the machine and its boards.", *LABELS),)

CLASS = "class/dmi/id"
FILES = ("sys_vendor" if name == "system_vendor" else name for name in LABELS)
PATHS = tuple(f"{CLASS}/{file}" for file in FILES)


def read(host: Host) -> Iterator[Sample]:
    if "values" not in host.cache:  # constant until a reboot
        host.sys.list_directory(CLASS)  # fails if there is no DMI
        host.cache["values"] = tuple(read_label(host, path) for path in PATHS)
    values: tuple[str, ...] = host.cache["values"]
    if not any(values):
        raise Unavailable("no DMI field can be read")
    yield INFO, values, 1


SOURCE = Source("dmi", METRICS, read, every=120)
