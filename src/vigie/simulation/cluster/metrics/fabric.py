"""InfiniBand ports of a node, as their source would read them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vigie.simulation.cluster.host_physics import HostPhysics, compute_port
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.columns import Column, gauge, rate
from vigie.simulation.cluster.noise import Numbers, Times
from vigie.simulation.cluster.scenario import Scenario

PORT = "1"
PACKET = 4096.0
SPEED = 400e9 / 8
NEVER = (
    "symbol_error",
    "port_errors_received",
    "port_discards_transmitted",
    "port_constraint_errors_transmitted",
    "port_constraint_errors_received",
    "link_error_recovery",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "vl15_dropped",
)


def fabric_columns(
    scenario: Scenario, machine: MachineSpec, state: HostPhysics, times: Times
) -> Iterator[Column]:
    """Yield counters and state of each port."""
    for number in range(machine.ports):
        device = f"mlx5_{number}"
        up, fell = compute_port(scenario, machine.name, device, times)
        uneven = scenario.noise.around(f"{machine.name}/{device}", times, 5_000, 0.04)
        yield from _port(device, up, fell, state.fabric * uneven * up)


def _port(device: str, up: Numbers, fell: Numbers, traffic: Numbers) -> Iterator[Column]:
    def counted(name: str, values: Numbers) -> Column:
        return rate(f"node_infiniband_{name}_total", values, device, PORT)

    yield gauge("node_infiniband_state_id", np.where(up > 0, 4.0, 1.0), device, PORT)
    yield gauge("node_infiniband_physical_state_id", np.where(up > 0, 5.0, 2.0), device, PORT)
    yield gauge("node_infiniband_rate_bytes_per_second", np.full(len(up), SPEED), device, PORT)
    for way in ("received", "transmitted"):
        yield counted(f"port_data_{way}_bytes", traffic)
        yield counted(f"port_packets_{way}", traffic / PACKET)
    yield counted("port_transmit_wait", traffic * 2e-4)
    yield gauge("node_infiniband_link_downed_total", fell, device, PORT)
    for name in NEVER:
        yield counted(name, np.zeros(len(up)))
