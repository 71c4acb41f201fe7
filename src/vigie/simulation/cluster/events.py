"""What the nodes of the simulated cluster would have told of each incident, in the words of their sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vigie.model import Event
from vigie.simulation.cluster.device_names import pci_address, uuid
from vigie.simulation.cluster.host_physics import DOWN_MINUTES, falls
from vigie.simulation.cluster.incidents import (
    CLOCK_CAP,
    DRAINED,
    LEAK,
    LINK_FLAP,
    PCIE,
    ROW_REMAP,
    XID_79,
    ScriptedIncident,
)
from vigie.simulation.cluster.machines import MachineSpec
from vigie.simulation.cluster.scenario import Scenario
from vigie.sources.core.xids import describe_xid, get_severity

Told = Iterator[tuple[str, Event]]


def events(story: Scenario) -> Told:
    """Yield each event with its node; of lost nodes the server tells, and some nobody would notice."""
    for incident in story.incidents:
        teller = TELLERS.get(incident.kind)
        if teller:
            yield from teller(story, incident)


def _xid(story: Scenario, incident: ScriptedIncident, number: int, minutes: float) -> tuple[str, Event]:
    where = {**_gpu(story, incident), "xid": str(number)}
    severity = get_severity(number)
    return incident.node, Event("xid", story.at(minutes), describe_xid(number), where, None, severity)


def _fell_off(story: Scenario, incident: ScriptedIncident) -> Told:
    yield _xid(story, incident, 79, incident.begin)
    what = f"GPU {incident.gpu} does not answer: fallen off the bus"
    yield _open_event(story, incident, "gpu_lost", what, _gpu(story, incident), "critical")


def _row_remap_events(story: Scenario, incident: ScriptedIncident) -> Told:
    yield _xid(story, incident, 48, incident.begin)
    yield _xid(story, incident, 63, incident.begin + 0.1)
    what = "rows remapped after uncorrectable errors: 1"
    yield _open_event(story, incident, "gpu_row_remapped", what, _gpu(story, incident), "critical")


def _throttle_events(story: Scenario, incident: ScriptedIncident) -> Told:
    where = {**_gpu(story, incident), "reason": "hw_power_brake"}
    yield _open_event(story, incident, "gpu_throttled", "throttled: hw_power_brake", where, "warning")


def _slow_pcie(story: Scenario, incident: ScriptedIncident) -> Told:
    what = "PCIe link runs below its maximum width"
    yield _open_event(story, incident, "pcie_downgrade", what, _gpu(story, incident), "warning")


def _link_flap_events(story: Scenario, incident: ScriptedIncident) -> Told:
    for begin in falls(story, incident.node, incident.device):
        where = {"node": incident.node, "device": incident.device, "port": "1"}
        end = story.at(begin + DOWN_MINUTES)
        what = "port no longer active"
        yield incident.node, Event("ib_link_down", story.at(begin), what, where, end, "critical")


def _oom_kill_events(story: Scenario, incident: ScriptedIncident) -> Told:
    where = {"node": incident.node, "process": "tokenise"}
    what = "the kernel ran out of memory and killed tokenise (pid 48122)"
    yield incident.node, Event("oom_kill", story.at(incident.end or 0), what, where, None, "warning")


def _drain_events(story: Scenario, incident: ScriptedIncident) -> Told:
    reason = incident.truth.partition("'")[2].rpartition("'")[0]
    what = f"the scheduler gives the node no work: {reason}"
    yield _open_event(story, incident, "node_drained", what, {"reason": reason}, "info")


TELLERS: dict[str, Callable[[Scenario, ScriptedIncident], Told]] = {
    XID_79: _fell_off,
    ROW_REMAP: _row_remap_events,
    CLOCK_CAP: _throttle_events,
    PCIE: _slow_pcie,
    LINK_FLAP: _link_flap_events,
    LEAK: _oom_kill_events,
    DRAINED: _drain_events,
}


def _open_event(
    story: Scenario, incident: ScriptedIncident, kind: str, what: str, where: dict[str, str], severity: str
) -> tuple[str, Event]:
    end = None if incident.end is None else story.at(incident.end)
    place = {"node": incident.node, **where}
    return incident.node, Event(kind, story.at(incident.begin), what, place, end, severity)


def _gpu(story: Scenario, incident: ScriptedIncident) -> dict[str, str]:
    machine: MachineSpec = story.machines[incident.node]
    gpu = incident.gpu or 0
    return {
        "node": incident.node,
        "gpu": str(gpu),
        "uuid": uuid(machine, gpu),
        "pci_bus_id": pci_address(gpu),
    }
