from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.thermal_zone import SOURCE


def test_zones_and_cooling_devices_are_told_by_number_and_type(machine: Machine, samples: Samples) -> None:
    archive = """\
-- sys/class/thermal/thermal_zone12/type --
acpitz
-- sys/class/thermal/thermal_zone12/temp --
-5500
-- sys/class/thermal/cooling_device0/type --
intel_powerclamp
-- sys/class/thermal/cooling_device0/cur_state --
-1
-- sys/class/thermal/cooling_device0/max_state --
50
"""
    assert samples(SOURCE, machine(archive)) == {
        'node_thermal_zone_temp{zone="12",type="acpitz"}': -5.5,
        'node_cooling_device_cur_state{name="0",type="intel_powerclamp"}': -1,
        'node_cooling_device_max_state{name="0",type="intel_powerclamp"}': 50,
    }


def test_a_zone_that_is_not_ready_costs_only_itself(machine: Machine, samples: Samples) -> None:
    archive = """\
-- sys/class/thermal/thermal_zone0/temp ! EAGAIN --
-- sys/class/thermal/thermal_zone1/temp --
41000
"""
    host = machine(archive)
    assert samples(SOURCE, host) == {'node_thermal_zone_temp{zone="1"}': 41}
    assert list(host.notes.values()) == ["Resource temporarily unavailable"]
