from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.optional.systemd import SOURCE

NAME, PATH = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"


def _get(path: str, interface: str, name: str) -> str:
    return f"{NAME} {path} org.freedesktop.DBus.Properties.Get {interface} {name}"


def _machine(machine: Machine, units: Any, **options: str) -> Any:
    answers = {
        f"{NAME} {PATH} {NAME}.Manager.ListUnits": units,
        _get(PATH, f"{NAME}.Manager", "SystemState"): "running",
        _get("/ssh", f"{NAME}.Service", "Type"): "notify",
        _get("/ssh", f"{NAME}.Service", "NRestarts"): 4,
        _get("/ssh", f"{NAME}.Service", "TasksCurrent"): 3,
        _get("/ssh", f"{NAME}.Service", "TasksMax"): (1 << 64) - 1,
        _get("/ssh", f"{NAME}.Unit", "ActiveEnterTimestamp"): 1_500_000,
    }
    return machine(f"-- calls.json --\n{json.dumps({'bus': answers})}\n", **options)


SSH = ["ssh.service", "", "loaded", "active", "running", "", "/ssh", 0, "", "/"]


def test_a_unit_is_in_one_state_and_counted(machine: Machine, samples: Samples) -> None:
    host = _machine(machine, [SSH, ["x.mount", "", "loaded", "failed", "", "", "/x", 0, "", "/"]])
    found = samples(SOURCE, host)
    state = 'node_systemd_unit_state{name="ssh.service",state="%s",type="notify"}'
    assert found[state % "active"] == 1
    assert found[state % "failed"] == 0
    assert not [series for series in found if "x.mount" in series]  # left out, and counted
    assert found['node_systemd_units{state="failed"}'] == 1
    assert found["node_systemd_system_running"] == 1


def test_details_are_told_when_asked_for(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, _machine(machine, [SSH], details="on"))
    assert found['node_systemd_service_restart_total{name="ssh.service"}'] == 4
    assert found['node_systemd_unit_start_time_seconds{name="ssh.service"}'] == 1.5
    assert found['node_systemd_unit_tasks_current{name="ssh.service"}'] == 3
    assert 'node_systemd_unit_tasks_max{name="ssh.service"}' not in found  # no limit is not a number


@pytest.mark.parametrize("units", [None, [], "units", [1, None, ["short"]], [[None] * 10], 7])
def test_an_answer_of_another_shape_costs_only_the_units(
    units: Any, machine: Machine, samples: Samples
) -> None:
    found = samples(SOURCE, _machine(machine, units))
    assert found["node_systemd_system_running"] == 1
    assert not [series for series in found if series.startswith("node_systemd_unit_state")]


def test_a_machine_without_a_bus_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="no connection"):
        samples(SOURCE, machine("-- proc/stat --\n"))
