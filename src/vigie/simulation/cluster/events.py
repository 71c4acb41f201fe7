"""Events that the nodes would report for each incident, in their sources' words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vigie.model import Event
from vigie.simulation.cluster.device_names import build_pci_address, build_uuid
from vigie.simulation.cluster.host_physics import DOWN_MINUTES, count_link_downs
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

EventBuilder = Iterator[tuple[str, Event]]


def build_events(scenario: Scenario) -> EventBuilder:
    """Yield each event with its node. The server reports lost nodes; some incidents have no event."""
    for incident in scenario.incidents:
        teller = BUILDERS.get(incident.kind)
        if teller:
            yield from teller(scenario, incident)


def _xid_events(
    scenario: Scenario, incident: ScriptedIncident, number: int, minutes: float
) -> tuple[str, Event]:
    where = {**_gpu_labels(scenario, incident), "xid": str(number)}
    severity = get_severity(number)
    return incident.node, Event("xid", scenario.at(minutes), describe_xid(number), where, None, severity)


def _gpu_lost_events(scenario: Scenario, incident: ScriptedIncident) -> EventBuilder:
    yield _xid_events(scenario, incident, 79, incident.begin)
    what = f"GPU {incident.gpu} is not responding: fallen off the bus"
    yield _open_event(scenario, incident, "gpu_lost", what, _gpu_labels(scenario, incident), "critical")


def _row_remap_events(scenario: Scenario, incident: ScriptedIncident) -> EventBuilder:
    yield _xid_events(scenario, incident, 48, incident.begin)
    yield _xid_events(scenario, incident, 63, incident.begin + 0.1)
    what = "rows remapped after uncorrectable errors: 1"
    yield _open_event(
        scenario, incident, "gpu_row_remapped", what, _gpu_labels(scenario, incident), "critical"
    )


def _throttle_events(scenario: Scenario, incident: ScriptedIncident) -> EventBuilder:
    where = {**_gpu_labels(scenario, incident), "reason": "hw_power_brake"}
    yield _open_event(scenario, incident, "gpu_throttled", "throttled: hw_power_brake", where, "warning")


def _pcie_events(scenario: Scenario, incident: ScriptedIncident) -> EventBuilder:
    what = "PCIe link runs below its maximum width"
    yield _open_event(scenario, incident, "pcie_downgrade", what, _gpu_labels(scenario, incident), "warning")


def _link_flap_events(scenario: Scenario, incident: ScriptedIncident) -> EventBuilder:
    for begin in count_link_downs(scenario, incident.node, incident.device):
        where = {"node": incident.node, "device": incident.device, "port": "1"}
        end = scenario.at(begin + DOWN_MINUTES)
        what = "port no longer active"
        yield incident.node, Event("ib_link_down", scenario.at(begin), what, where, end, "critical")


def _oom_kill_events(scenario: Scenario, incident: ScriptedIncident) -> EventBuilder:
    where = {"node": incident.node, "process": "tokenise"}
    what = "OOM kill: process 48122 (tokenise), the machine was out of memory"
    yield incident.node, Event("oom_kill", scenario.at(incident.end or 0), what, where, None, "warning")


def _drain_events(scenario: Scenario, incident: ScriptedIncident) -> EventBuilder:
    reason = incident.truth.partition("'")[2].rpartition("'")[0]
    what = f"drained: {reason}"
    yield _open_event(scenario, incident, "node_drained", what, {"reason": reason}, "info")


BUILDERS: dict[str, Callable[[Scenario, ScriptedIncident], EventBuilder]] = {
    XID_79: _gpu_lost_events,
    ROW_REMAP: _row_remap_events,
    CLOCK_CAP: _throttle_events,
    PCIE: _pcie_events,
    LINK_FLAP: _link_flap_events,
    LEAK: _oom_kill_events,
    DRAINED: _drain_events,
}


def _open_event(
    scenario: Scenario, incident: ScriptedIncident, kind: str, what: str, where: dict[str, str], severity: str
) -> tuple[str, Event]:
    end = None if incident.end is None else scenario.at(incident.end)
    place = {"node": incident.node, **where}
    return incident.node, Event(kind, scenario.at(incident.begin), what, place, end, severity)


def _gpu_labels(scenario: Scenario, incident: ScriptedIncident) -> dict[str, str]:
    machine: MachineSpec = scenario.machines[incident.node]
    gpu = incident.gpu or 0
    return {
        "node": incident.node,
        "gpu": str(gpu),
        "uuid": build_uuid(machine, gpu),
        "pci_bus_id": build_pci_address(gpu),
    }
