"""AMD GPUs by sysfs: units, cards that sleep, files that are not there."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.machines import HERE
from tests.sources.conftest import Machine, Samples
from vigie.sources._amdgpu_files import (
    parse_current_clock,
    parse_pcie_generation,
    parse_ras_counts,
    parse_throttle_reasons,
)
from vigie.sources.amdgpu import SOURCE
from vigie.sources.core.replay import replay
from vigie.sources.core.source import Unavailable

MI300X = (HERE / "mi300x/gpus.txt").read_text()
RADEON = (HERE / "radeon/gpus.txt").read_text()
FIRST = 'gpu="0",uuid="GPU-bdc1a4b8d6c2e9f0",vendor="amd",model="AMD Instinct MI300X OAM"'
AWAKE = 'gpu="0",uuid="GPU-70f1a2b3c4d5e6f7",vendor="amd",model="AMD 0x744c"'
ASLEEP = 'gpu="1",vendor="amd",model="AMD 0x744c"'


def _of(found: dict[str, float], labels: str) -> dict[str, float]:
    """Return the samples of one card by name and by what stands behind its labels."""
    return {
        text.replace(labels, "").replace("{,", "{").replace("{}", ""): value
        for text, value in found.items()
        if labels in text
    }


def test_an_mi300x_has_power_at_the_moment_no_edge_and_base_units(machine: Machine, samples: Samples) -> None:
    found = _of(samples(SOURCE, machine(MI300X)), FIRST)
    assert found == {
        'vigie_gpu_info{pci_bus_id="00000000:05:00.0",driver="amdgpu"}': 1,
        "vigie_amdgpu_suspended": 0,
        "vigie_gpu_busy_ratio": 0.97,
        "vigie_gpu_memory_busy_ratio": 0.41,
        "vigie_gpu_memory_used_bytes": 160 << 30,
        "vigie_gpu_memory_total_bytes": 206_141_652_992,
        "vigie_amdgpu_gtt_used_bytes": 15_925_248,
        "vigie_amdgpu_gtt_total_bytes": 1_081_909_288_960,
        "vigie_gpu_power_watts": 693,
        "vigie_gpu_power_limit_watts": 750,
        "vigie_gpu_temperature_celsius": 78,  # of the junction
        "vigie_gpu_memory_temperature_celsius": 61,
        'vigie_amdgpu_temperature_celsius{sensor="junction"}': 78,
        'vigie_amdgpu_temperature_celsius{sensor="mem"}': 61,
        "vigie_gpu_clock_hertz": 1_834_000_000,
        "vigie_gpu_memory_clock_hertz": 1_300_000_000,
        'vigie_amdgpu_clock_hertz{clock="sclk"}': 1_834_000_000,
        'vigie_amdgpu_clock_hertz{clock="mclk"}': 1_300_000_000,
        'vigie_amdgpu_clock_hertz{clock="fclk"}': 2_000_000_000,
        'vigie_amdgpu_clock_hertz{clock="socclk"}': 29_000_000,
        "vigie_gpu_pcie_generation": 5,
        "vigie_gpu_pcie_generation_max": 5,
        "vigie_gpu_pcie_width": 16,
        "vigie_gpu_pcie_width_max": 16,
        "vigie_amdgpu_pcie_replays_total": 3,
        'vigie_amdgpu_ras_errors_total{block="umc",kind="uncorrected"}': 0,
        'vigie_amdgpu_ras_errors_total{block="umc",kind="corrected"}': 5,
        'vigie_amdgpu_ras_errors_total{block="umc",kind="deferred"}': 1,
        'vigie_amdgpu_ras_errors_total{block="sdma",kind="uncorrected"}': 0,
        'vigie_amdgpu_ras_errors_total{block="sdma",kind="corrected"}': 0,
        'vigie_amdgpu_ras_errors_total{block="xgmi_wafl",kind="uncorrected"}': 0,
        'vigie_amdgpu_ras_errors_total{block="xgmi_wafl",kind="corrected"}': 2,
    }


def test_a_radeon_has_an_average_of_power_an_edge_and_a_fan(machine: Machine, samples: Samples) -> None:
    found = _of(samples(SOURCE, machine(RADEON)), AWAKE)
    assert found["vigie_gpu_power_watts"] == 287
    assert found["vigie_gpu_temperature_celsius"] == 58
    assert found['vigie_amdgpu_temperature_celsius{sensor="junction"}'] == 71
    assert found["vigie_gpu_fan_ratio"] == 0.4
    assert found["vigie_amdgpu_fan_rpm"] == 1385
    assert found["vigie_gpu_clock_hertz"] == 2_371_000_000  # by the star in pp_dpm_sclk
    assert found["vigie_gpu_pcie_generation"] == 4
    assert not any("ras" in name for name in found)


def test_a_card_that_sleeps_is_not_woken(machine: Machine, samples: Samples) -> None:
    host = machine(RADEON)
    assert set(_of(samples(SOURCE, host), ASLEEP)) == {
        'vigie_gpu_info{pci_bus_id="00000000:0C:00.0",driver="amdgpu"}',
        "vigie_amdgpu_suspended",
    }
    assert host.notes == {}  # every file that would wake it answers with an error, which would be noted


def test_the_file_that_takes_a_second_is_never_read(machine: Machine, samples: Samples) -> None:
    assert "pcie_bw ! EIO" in MI300X
    host = machine(MI300X)
    samples(SOURCE, host)
    assert host.notes == {}


def test_cards_of_other_vendors_and_of_other_drivers_are_left(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable):
        samples(SOURCE, machine(MI300X.replace("drivers/amdgpu", "drivers/vfio-pci")))


def test_a_card_that_wakes_is_read_again(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    host = machine(RADEON.replace("active", "suspended"))
    assert "vigie_gpu_busy_ratio" not in _of(samples(SOURCE, host), AWAKE)
    (tmp_path / "sys/devices/pci0000:00/0000:03:00.0/power/runtime_status").write_text("active\n")
    assert _of(samples(SOURCE, host), AWAKE)["vigie_gpu_busy_ratio"] == 0.63


@pytest.mark.parametrize(
    ("bits", "reasons"),
    [
        (0, []),
        (1 << 0 | 1 << 16, ["power_cap", "current_limit"]),
        (1 << 34, ["thermal"]),  # its memory
        (1 << 57, ["other"]),
    ],
)
def test_why_a_card_is_held_back(
    machine: Machine, samples: Samples, tmp_path: Path, bits: int, reasons: list[str]
) -> None:
    host = machine(RADEON)
    table = struct.pack("<HBB108xQ", 120, 1, 3, bits)
    (tmp_path / "sys/devices/pci0000:00/0000:03:00.0/gpu_metrics").write_bytes(table)
    found = _of(samples(SOURCE, host), AWAKE)
    told = {name: value for name, value in found.items() if name.startswith("vigie_gpu_throttled")}
    assert len(told) == 4
    assert [name for name, value in told.items() if value] == [
        f'vigie_gpu_throttled{{reason="{reason}"}}' for reason in reasons
    ]


@pytest.mark.parametrize(
    "table",
    [
        b"",
        struct.pack("<HBB108xQ", 120, 1, 3, (1 << 64) - 1),  # not measured
        struct.pack("<HBB108xQ", 120, 2, 3, 1),
        struct.pack("<HBB108xQ", 264, 1, 5, 1),
        struct.pack("<HBB108xQ", 120, 1, 3, 1)[:-1],
    ],
)
def test_another_table_tells_nothing(table: bytes) -> None:
    assert list(parse_throttle_reasons(table)) == []


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(
        [
            *("gpu_busy_percent", "mem_info_vram_used", "pp_dpm_fclk", "ras/umc_err_count", "unique_id"),
            *("current_link_speed", "product_name", "hwmon/hwmon4/temp2_label", "hwmon/hwmon4/power1_input"),
        ]
    ),
    st.binary(max_size=60),
)
def test_whatever_a_file_holds_the_others_are_read(
    machine: Machine, samples: Samples, tmp_path: Path, file: str, data: bytes
) -> None:
    if not (tmp_path / "sys").exists():
        machine(MI300X)
    spoiled = tmp_path / "sys/devices/pci0000:05/0000:05:00.0" / file
    good = spoiled.read_bytes()
    spoiled.write_bytes(data)
    found = samples(SOURCE, replay(str(tmp_path)))
    spoiled.write_bytes(good)
    assert 1834e6 in [value for text, value in found.items() if text.startswith("vigie_gpu_clock_hertz")]


@given(st.text(max_size=80))
def test_text_is_understood_or_left(text: str) -> None:
    assert (parse_current_clock(text) or 0) >= 0
    assert (parse_pcie_generation(text) or 1) in range(1, 8)
    assert all(count >= 0 for _, count in parse_ras_counts(text))
