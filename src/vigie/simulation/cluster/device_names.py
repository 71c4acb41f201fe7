"""Device names, the same for the same machine."""

from __future__ import annotations

from hashlib import sha256

from vigie.simulation.cluster.machines import MachineSpec

FIRST_PID = 31_400
BUSES = (0x18, 0x2A, 0x3A, 0x5D, 0x9A, 0xAB, 0xBA, 0xDB)


def build_uuid(machine: MachineSpec, gpu: int) -> str:
    """Return the UUID of a GPU, in its vendor's format."""
    digest = sha256(f"{machine.name}/{gpu}".encode()).hexdigest()
    if machine.gpu is not None and machine.gpu.vendor == "amd":
        return f"0x{digest[:16]}"
    return "GPU-" + "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def build_pid(gpu: int) -> str:
    """Return the id of the compute process of a GPU; each has at most one."""
    return str(FIRST_PID + 7 * gpu)


def build_pci_address(gpu: int) -> str:
    return f"00000000:{BUSES[gpu % len(BUSES)]:02X}:00.0"
