from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.wallclock import SOURCE

CALLS = '-- calls.json --\n{"time": 1762345678.25, "zone": ["CET", 3600]}\n'
CLOCKS = "sys/devices/system/clocksource/clocksource0"


def test_time_zone_and_clocks_are_told(machine: Machine, samples: Samples) -> None:
    archive = f"-- {CLOCKS}/available_clocksource --\ntsc hpet\n-- {CLOCKS}/current_clocksource --\nhpet\n"
    assert samples(SOURCE, machine(CALLS + archive)) == {
        "node_time_seconds": 1762345678.25,
        'node_time_zone_offset_seconds{time_zone="CET"}': 3600,
        'node_time_clocksource_available_info{device="0",clocksource="tsc"}': 1,
        'node_time_clocksource_available_info{device="0",clocksource="hpet"}': 1,
        'node_time_clocksource_current_info{device="0",clocksource="hpet"}': 1,
    }


def test_machine_that_hides_its_clocks_still_has_the_time(machine: Machine, samples: Samples) -> None:
    assert len(samples(SOURCE, machine(CALLS))) == 2
    assert len(samples(SOURCE, machine(f"-- {CLOCKS}/current_clocksource ! EIO --\n"))) == 2
