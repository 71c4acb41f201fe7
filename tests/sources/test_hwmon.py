from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.hwmon import SOURCE

CPU = """\
-- sys/class/hwmon/hwmon0 -> ../../devices/pci0000:00/0000:00:18.3/hwmon/hwmon0 --
-- sys/devices/pci0000:00/0000:00:18.3/hwmon/hwmon0/device -> ../../../0000:00:18.3 --
-- sys/devices/pci0000:00/0000:00:18.3/hwmon/hwmon0/name --
k10temp
-- sys/devices/pci0000:00/0000:00:18.3/hwmon/hwmon0/temp1_label --
Tctl
-- sys/devices/pci0000:00/0000:00:18.3/hwmon/hwmon0/temp1_input --
61250
-- sys/devices/pci0000:00/0000:00:18.3/power/control --
auto
"""


def test_a_chip_is_named_after_its_place_and_a_sensor_has_its_label(
    machine: Machine, samples: Samples
) -> None:
    chip = 'chip="pci0000:00_0000:00:18_3"'
    assert samples(SOURCE, machine(CPU)) == {
        f'node_hwmon_chip_names{{{chip},chip_name="k10temp"}}': 1,
        f'node_hwmon_sensor_label{{{chip},sensor="temp1",label="Tctl"}}': 1,
        f'node_hwmon_temp_celsius{{{chip},sensor="temp1"}}': 61.25,
    }


@pytest.mark.parametrize(
    ("file", "text", "series", "value"),
    [
        ("temp2_crit_alarm", "1", 'temp_crit_alarm_celsius{chip="x",sensor="temp2"}', 0.001),
        ("temp2_alarm", "1", 'temp_alarm{chip="x",sensor="temp2"}', 1),
        ("temp2_type", "4", 'temp_type{chip="x",sensor="temp2"}', 4),
        ("in3_input", "12096", 'in_volts{chip="x",sensor="in3"}', 12.096),
        ("in3_beep", "1", 'in_beep_enabled{chip="x",sensor="in3"}', 1),
        ("cpu0_vid", "1350", 'cpu_vid_volts{chip="x",sensor="cpu0"}', 1.35),
        ("fan1_input", "8120", 'fan_rpm{chip="x",sensor="fan1"}', 8120),
        ("fan1_min", "600", 'fan_min_rpm{chip="x",sensor="fan1"}', 600),
        ("fan1_div", "8", 'fan_div{chip="x",sensor="fan1"}', 8),
        ("pwm2", "127", 'pwm{chip="x",sensor="pwm2"}', 127),
        ("pwm2_enable", "5", 'pwm_enable{chip="x",sensor="pwm2"}', 5),
        ("curr1_crit", "12000", 'curr_crit_amps{chip="x",sensor="curr1"}', 12),
        ("power1_average", "35000000", 'power_average_watt{chip="x",sensor="power1"}', 35),
        ("power1_average_interval", "300", 'power_average_interval_seconds{chip="x",sensor="power1"}', 0.3),
        ("energy1_input", "7000000", 'energy_joule_total{chip="x",sensor="energy1"}', 7),
        ("humidity1_input", "410000", 'humidity{chip="x",sensor="humidity1"}', 0.41),
        ("intrusion0_alarm", "1", 'intrusion_alarm{chip="x",sensor="intrusion0"}', 1),
        ("update_interval", "1500", 'update_interval_seconds{chip="x",sensor="update_interval0"}', 1.5),
        ("vrm", "90", 'voltage_regulator_version{chip="x",sensor="vrm0"}', 90),
        ("beep_enable", "1", 'beep_enabled{chip="x",sensor="beep_enable0"}', 1),
    ],
)
def test_kind_and_attribute_decide_name_and_unit(
    file: str, text: str, series: str, value: float, machine: Machine, samples: Samples
) -> None:
    found = samples(
        SOURCE,
        machine(f"-- sys/class/hwmon/hwmon0/name --\nx\n-- sys/class/hwmon/hwmon0/{file} --\n{text}\n"),
    )
    assert found[f"node_hwmon_{series}"] == pytest.approx(value)
    assert len(found) == 2


def test_a_clock_is_known_by_its_label(machine: Machine, samples: Samples) -> None:
    chip = "-- sys/class/hwmon/hwmon0"
    archive = f"{chip}/freq1_input --\n1500000000\n{chip}/freq1_label --\nsclk\n"
    assert samples(SOURCE, machine(archive))['node_hwmon_freq_freq_mhz{chip="hwmon0",sensor="sclk"}'] == 1500


def test_attributes_beside_the_device_are_found_as_well(machine: Machine, samples: Samples) -> None:
    archive = CPU + "-- sys/devices/pci0000:00/0000:00:18.3/in0_input --\n1056\n"
    assert 'node_hwmon_in_volts{chip="pci0000:00_0000:00:18_3",sensor="in0"}' in samples(
        SOURCE, machine(archive)
    )


def test_two_chips_of_one_device_are_told_apart(machine: Machine, samples: Samples) -> None:
    other = CPU.replace("hwmon0", "hwmon1").replace("k10temp", "Other chip").replace("61250", "5000")
    found = samples(SOURCE, machine(CPU + other))
    place = "pci0000:00_0000:00:18_3"
    assert found[f'node_hwmon_temp_celsius{{chip="{place}_k10temp",sensor="temp1"}}'] == 61.25
    assert found[f'node_hwmon_temp_celsius{{chip="{place}_other_chip",sensor="temp1"}}'] == 5


def test_two_chips_of_one_device_and_name_are_told_apart_by_number(
    machine: Machine, samples: Samples
) -> None:
    found = samples(SOURCE, machine(CPU + CPU.replace("hwmon0", "hwmon1")))
    chips = {series.split('chip="')[1].split('"')[0] for series in found}
    assert chips == {"pci0000:00_0000:00:18_3_k10temp_hwmon0", "pci0000:00_0000:00:18_3_k10temp_hwmon1"}


def test_a_sensor_that_is_not_connected_costs_only_itself(machine: Machine, samples: Samples) -> None:
    chip = "-- sys/class/hwmon/hwmon0"
    host = machine(
        f"{chip}/temp1_input --\n{chip}/temp1_input ! ENODATA --\n"
        f"{chip}/temp2_input --\nN/A\n{chip}/temp3_input --\n30000\n"
    )
    assert samples(SOURCE, host) == {'node_hwmon_temp_celsius{chip="hwmon0",sensor="temp3"}': 30}
    assert sorted(host.notes.values()) == ["No data available", "invalid number 'N/A'"]


def test_a_driver_that_is_loaded_later_is_found(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    host = machine(CPU)
    samples(SOURCE, host)
    late = tmp_path / "sys/class/hwmon/hwmon1"
    late.mkdir()
    (late / "fan1_input").write_text("900\n")
    assert samples(SOURCE, host)['node_hwmon_fan_rpm{chip="hwmon1",sensor="fan1"}'] == 900


def test_a_card_that_sleeps_is_not_woken(machine: Machine, samples: Samples) -> None:
    host = machine(
        "-- sys/class/hwmon/hwmon0/name --\namdgpu\n"
        "-- sys/class/hwmon/hwmon0/temp1_input ! EIO --\n"
        "-- sys/class/hwmon/hwmon0/device/power/runtime_status --\nsuspended\n"
        "-- sys/class/hwmon/hwmon01/name --\nk10temp\n"
        "-- sys/class/hwmon/hwmon01/temp1_input --\n50000\n"
    )
    assert [text for text in samples(SOURCE, host) if "temp" in text] == [
        'node_hwmon_chip_names{chip="k10temp",chip_name="k10temp"}',
        'node_hwmon_temp_celsius{chip="k10temp",sensor="temp1"}',
    ]
    assert host.notes == {}
