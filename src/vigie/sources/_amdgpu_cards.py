"""Finds the GPUs of the amdgpu driver and their files."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from vigie.model.node import normalize_pci_bus_id
from vigie.sources._attributes import read_label, should_search
from vigie.sources.core.host import Host

TOP = "class/drm"
CARD = re.compile(r"^card(\d{1,4})$")
AMD = "0x1002"
RAS_FILE = re.compile(r"^([a-z0-9_]{1,32})_err_count$")
SENSOR_LABEL = re.compile(r"^(temp|freq)(\d{1,3})_label$")

NO_CARD = "no GPU uses the amdgpu driver"

Files = list[tuple[str, str]]  # label, path


class AmdCard(NamedTuple):
    """Identity and files of one GPU."""

    labels: tuple[str, str, str, str]
    address: str
    path: str
    hwmon: str
    temperatures: Files
    frequencies: Files
    ras: Files


def find_cards(host: Host) -> list[AmdCard]:
    """Return the cards by number. Searched again when the list changes, and periodically."""
    names = sorted(host.sys.list_names(TOP))
    if should_search(host) or host.cache["names"] != names:
        host.cache["names"] = names
        host.cache["cards"] = _search_cards(host, names)
    found: list[AmdCard] = host.cache["cards"]
    return found


def is_suspended(host: Host, card: AmdCard) -> bool:
    """Return whether the card is suspended. Reading almost any other file would resume it."""
    return host.sys.read_text(f"{card.path}/power/runtime_status") in ("suspended", "suspending")


def _search_cards(host: Host, names: list[str]) -> list[AmdCard]:
    numbers = sorted(int(match.group(1)) for match in map(CARD.match, names) if match)
    paths = [f"{TOP}/card{number}/device" for number in numbers]
    ours = [path for path in paths if _is_amdgpu(host, path)]
    return [_read_card(host, str(index), path) for index, path in enumerate(ours)]


def _is_amdgpu(host: Host, path: str) -> bool:
    if host.sys.read_text(f"{path}/vendor") != AMD:
        return False
    try:
        return posixpath.basename(host.sys.read_link(f"{path}/driver")) == "amdgpu"
    except OSError:
        return False


def _read_card(host: Host, index: str, path: str) -> AmdCard:
    unique = read_label(host, f"{path}/unique_id")
    uuid = f"GPU-{unique}" if unique.strip("0") else ""  # ROCm's format
    model = read_label(host, f"{path}/product_name") or f"AMD {read_label(host, f'{path}/device')}".strip()
    hwmon = next((f"{path}/hwmon/{name}" for name in host.sys.list_names(f"{path}/hwmon")), "")
    files = host.sys.list_names(hwmon) if hwmon else []
    return AmdCard(
        (index, uuid, "amd", model),
        _read_address(host, path),
        path,
        hwmon,
        _find_labelled(host, hwmon, files, "temp"),
        _find_labelled(host, hwmon, files, "freq"),
        [
            (match.group(1), f"{path}/ras/{match.group()}")
            for match in map(RAS_FILE.match, host.sys.list_names(f"{path}/ras"))
            if match
        ],
    )


def _read_address(host: Host, path: str) -> str:
    try:
        return normalize_pci_bus_id(posixpath.basename(host.sys.read_link(path)))
    except OSError:
        return ""


def _find_labelled(host: Host, hwmon: str, files: list[str], kind: str) -> Files:
    found = {}
    for match in filter(None, map(SENSOR_LABEL.match, files)):
        name = read_label(host, f"{hwmon}/{match.group()}")
        if match.group(1) == kind and name:
            found[name] = f"{hwmon}/{kind}{match.group(2)}_input"
    return list(found.items())
