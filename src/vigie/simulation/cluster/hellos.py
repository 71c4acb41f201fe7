"""Hello messages of simulated agents."""

from __future__ import annotations

from hashlib import sha256

from msgspec import structs

from vigie.agent.link.hello import NodeDescription
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.metrics.gpu import DRIVER
from vigie.wire.messages import Hello


class SimulatedHello(NodeDescription):
    """A hello that describes another machine."""

    machine: MachineSpec

    def hello(self, address: str) -> Hello:
        """Return the first message of the simulated agent."""
        return structs.replace(super().hello(address), host=self.machine.name)

    def inventory(self) -> dict[str, str]:
        return _build_inventory(self.machine)


def build_hello(machine: MachineSpec, seconds: float) -> SimulatedHello:
    """Return the identity of a simulated agent, the same at each start."""
    identity = sha256(machine.name.encode()).hexdigest()[:32]
    labels = {"rack": machine.rack, "partition": machine.partition}
    made = SimulatedHello(machine.name, seconds, labels, identity[:16], "", identity)
    made.machine = machine
    return made


def _build_inventory(machine: MachineSpec) -> dict[str, str]:
    found = {
        "cpus": str(machine.cores),
        "memory_bytes": str(machine.memory_bytes),
        "kernel": "6.8.0-45-generic",
        "architecture": "x86_64",
    }
    if machine.gpu:
        found |= {
            "gpus": str(machine.gpus),
            "gpu_model": machine.gpu.model,
            "driver": DRIVER[machine.gpu.vendor],
        }
    return found
