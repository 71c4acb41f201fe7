"""One machine of the cluster, and how its devices are addressed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

PCI = re.compile(r"^(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?$")


class Node(NamedTuple):
    """Identified by its name; addresses are hints."""

    name: str
    addresses: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}


def normalize_pci_bus_id(text: str) -> str:
    """Return a PCI address as NVML spells it (00000000:C1:00.0); what is none stays as it is."""
    match = PCI.match(text)
    if match is None:
        return text
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):08X}:{int(bus, 16):02X}:{int(device, 16):02X}.{function or 0}"
