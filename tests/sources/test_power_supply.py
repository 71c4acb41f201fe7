from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.power_supply import SOURCE

BATTERY = """\
-- sys/class/power_supply/BAT0/type --
Battery
-- sys/class/power_supply/BAT0/capacity --
87
-- sys/class/power_supply/BAT0/voltage_now --
12500000
-- sys/class/power_supply/BAT0/temp --
287
"""


def test_micro_units_and_tenths_are_scaled(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(BATTERY)) == {
        'node_power_supply_capacity{power_supply="BAT0"}': 87,
        'node_power_supply_voltage_volt{power_supply="BAT0"}': 12.5,
        'node_power_supply_temp_celsius{power_supply="BAT0"}': 28.7,
        'node_power_supply_info{power_supply="BAT0",type="Battery"}': 1,
    }


def test_an_attribute_that_cannot_be_read_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(BATTERY + "-- sys/class/power_supply/BAT0/voltage_now ! ENODEV --\n")
    assert len(samples(SOURCE, host)) == 3
    assert list(host.notes.values()) == ["No such device"]


def test_a_machine_without_supplies_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="no power supply"):
        samples(SOURCE, machine("-- sys/class/power_supply/ --\n"))
