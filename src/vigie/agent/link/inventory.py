"""Hardware inventory from sysfs. No driver is called, as a hanging one would block the link."""

from __future__ import annotations

import os
import re
from pathlib import Path

# GPUs by their kernel driver. A GPU that failed to start, or is passed to a guest, has none.
GPU_DRIVERS = ("nvidia", "amdgpu")
SCREENS = "0x0300"  # display class; AMD's are mostly part of a CPU
PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")


def build_inventory(sysfs: Path = Path("/sys")) -> dict[str, str]:
    """Build the inventory. Unknown entries, such as GPUs without a driver, are omitted."""
    system = os.uname()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = {
        "cpus": str(os.cpu_count() or ""),
        "memory_bytes": str(memory),
        "kernel": system.release,
        "architecture": system.machine,
    }
    return {**found, **_count_gpus(sysfs)}


def _count_gpus(sysfs: Path) -> dict[str, str]:
    counted = {driver: _find_devices(sysfs / "bus/pci/drivers" / driver) for driver in GPU_DRIVERS}
    known = {driver: count for driver, count in counted.items() if count is not None}
    if not known:
        return {}
    versions = [format_item(sysfs / "module" / driver / "version") for driver in known]
    found = {"gpus": str(sum(known.values())), "driver": ", ".join(filter(None, versions))}
    return {name: text for name, text in found.items() if text}


def _find_devices(driver: Path) -> int | None:
    """Count the GPUs of a driver, or return None if it has none but displays."""
    try:
        devices = [name for name in os.listdir(driver) if PCI.fullmatch(name)]
    except OSError:
        return None
    if driver.name == "nvidia":
        return len(devices)
    return sum(not format_item(driver / name / "class").startswith(SCREENS) for name in devices) or None


def format_item(path: Path) -> str:
    """Return the content of a one-line file, or an empty string."""
    try:
        return path.read_text().strip()[:64]
    except (OSError, UnicodeDecodeError):
        return ""
