"""What changes over time: throttling, MIG, links, profiling, processes, XIDs."""

from __future__ import annotations

import pytest

from tests.sources.nvidia.conftest import Make
from vigie.simulation.nvml import gpu_models


def test_each_reason_to_throttle_is_a_series(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "2 reasons 36"])
    found = made.read()
    held = {key[2] for key, value in found.items() if key[:2] == ("vigie_gpu_throttled", "2") and value}
    assert held == {"power_cap", "sw_thermal"}
    assert found["DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "2", ""] == 36
    assert sum(v for (name, *_), v in found.items() if name == "vigie_gpu_throttled") == 2


def test_value_changes_when_its_time_has_come(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "4 power.usage 100000 @60"])
    assert made.read()["DCGM_FI_DEV_POWER_USAGE", "4", ""] == 650.5
    made.at(60)
    assert made.read()["DCGM_FI_DEV_POWER_USAGE", "4", ""] == 100


def test_mig_instances_have_their_memory_and_the_gpu_its_own(machine: Make) -> None:
    made = machine(gpu_models.a100())
    made.read()
    labels = made.labels("DCGM_FI_DEV_FB_USED", "0")
    assert [(each.get("GPU_I_PROFILE"), each.get("GPU_I_ID")) for each in labels] == [
        (None, None),
        ("3g.20gb", "1"),
        ("1g.5gb", "5"),
    ]
    numbers = [v for (m, labels), v in _series(made) if m == "DCGM_FI_DEV_FB_USED" and labels[0] == "0"]
    assert numbers == [10240, 1024, 2048]
    found = made.read("nvidia_health")
    assert found["vigie_gpu_mig_mode", "0", ""] == 1
    assert ("vigie_gpu_mig_instance_info", "0", "5,1g.5gb,MIG-00000001-1111-2222-3333-444455556666") in found


def _series(made: object) -> list[tuple[tuple[str, tuple[str, ...]], float]]:
    values = made.readings["nvidia"].values  # type: ignore[attr-defined]
    return [((m.name, labels), v) for (m, labels), v in zip(values.table.series, values.numbers, strict=True)]


def test_load_of_a_split_gpu_is_absent_and_not_nought(machine: Make) -> None:
    made = machine(gpu_models.a100())
    found = made.read()
    assert ("DCGM_FI_DEV_GPU_UTIL", "0", "") not in found
    assert ("vigie_gpu_busy_ratio", "0", "") not in found
    assert made.notes()["DCGM_FI_DEV_GPU_UTIL"].startswith("GPU 0: not supported")


def test_new_mig_instance_is_found(machine: Make) -> None:
    made = machine(gpu_models.a100())
    made.read("nvidia_health")
    made.say(
        "0/2 uuid MIG-x", "0/2 name NVIDIA A100-SXM4-40GB MIG 2g.10gb", "0/2 instance 9", "0/2 compute 0"
    )
    assert ("vigie_gpu_mig_instance_info", "0", "9,2g.10gb,MIG-x") in made.read("nvidia_health")


def test_link_that_is_down_is_told_from_one_that_is_not_there(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "6 link.4.down 1", "6 link.4.error.1 12"])
    found = made.read("nvidia_nvlink")
    up = {key[2]: value for key, value in found.items() if key[:2] == ("vigie_gpu_nvlink_up", "6")}
    assert len(up) == 18
    assert [link for link, value in up.items() if not value] == ["4"]
    assert found["vigie_gpu_nvlink_errors_total", "6", "4,recovery"] == 12
    assert found["vigie_gpu_nvlink_transmit_bytes_total", "6", "4"] == 4 * 1024


def test_rates_are_over_the_time_that_the_driver_measured(machine: Make) -> None:
    made = machine(gpu_models.h100())
    assert ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "0", "") not in made.read()
    assert "two readings" in made.notes()["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"]
    made.at(7.3)
    assert made.read()["DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "0", ""] == pytest.approx(90, rel=0.01)


def test_profiling_counters_are_the_mean_between_two_readings(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "0 gpm.2 0", "0 gpm.2 100 @2", "0 gpm.5 none"])
    made.at(0)
    made.read("nvidia_profiling")
    made.at(8)
    found = made.profile()
    assert found["DCGM_FI_PROF_SM_ACTIVE", "0", ""] == pytest.approx(0.75, rel=0.01)
    assert found["DCGM_FI_PROF_SM_ACTIVE", "1", ""] == pytest.approx(0.9025)
    assert ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "0", "") not in found
    assert "GPU 0: not supported" in made.notes("nvidia_profiling")["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"]


def test_profiling_counters_of_a_mig_instance_are_its_own(machine: Make) -> None:
    split = [line.replace("A100", "H100") for line in gpu_models.a100() if line.startswith("0/")]
    made = machine([*gpu_models.h100(), *split, "0 mig.mode 1", "0/* gpm.supported 1", "0/1 gpm.2 40"])
    made.read("nvidia_profiling")
    made.at(5)
    assert made.profile()["DCGM_FI_PROF_SM_ACTIVE", "0", ""] == pytest.approx(0.4)
    labels = made.labels("DCGM_FI_PROF_SM_ACTIVE", "0", "nvidia_profiling")
    assert [each["GPU_I_ID"] for each in labels] == ["5"]


def test_processes_are_listed_with_their_memory(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "0 process.0 4711 1000", "0 process.1 4712 18446744073709551615"])
    found = made.read("nvidia_processes")
    assert found["vigie_gpu_processes", "0", ""] == 2
    assert found["vigie_gpu_processes", "1", ""] == 0
    assert found["vigie_gpu_process_memory_bytes", "0", "4711,"] == 1000
    assert ("vigie_gpu_process_memory_bytes", "0", "4712,") not in found


def test_share_of_each_process_is_the_newest_that_the_driver_tells(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "0 process.use.0 4711 1000 20 5", "0 process.use.1 4711 2000 75 5"])
    made.say("0 process.use.2 4712 1500 5 1")
    shares = {
        key[2]: value for key, value in made.read("nvidia_processes").items() if "process_busy" in key[0]
    }
    assert shares == {"4711": 0.75, "4712": 0.05}
    assert not any("process_busy" in key[0] for key in made.read("nvidia_processes")), "nothing came since"


def test_process_in_a_mig_instance_says_in_which(machine: Make) -> None:
    made = machine([*gpu_models.a100(), "0 process.0 99 5000 5 0"])
    assert made.read("nvidia_processes")["vigie_gpu_process_memory_bytes", "0", "99,5"] == 5000


def test_more_processes_than_fit_are_counted(machine: Make) -> None:
    made = machine([*gpu_models.geforce(), *(f"0 process.{n} {n + 1} 10" for n in range(200))])
    assert made.read("nvidia_processes") == {("vigie_gpu_processes", "0", ""): 200}


def test_board_is_told_by_its_serial_number_and_what_is_not_known_of_it_is_empty(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "1 serial none", "2 serial none", "2 vbios none"])
    found = made.read("nvidia_health")
    assert found["vigie_gpu_board_info", "0", "1650021000000,96.00.74.00.01"] == 1
    assert found["vigie_gpu_board_info", "1", ",96.00.74.00.01"] == 1
    assert not [key for key in found if key[:2] == ("vigie_gpu_board_info", "2")]
    assert "GPU 2: not supported" in made.readings["nvidia_health"].host.notes["vigie_gpu_board_info"]


def test_same_xid_twice_is_two_events_and_the_last_is_the_gauge(machine: Make) -> None:
    made = machine(gpu_models.h100())
    assert made.read()["DCGM_FI_DEV_XID_ERRORS", "5", ","] == 0
    made.say("5 xid 79", "5 xid 79", "2 xid 31")
    made.read()
    found = made.read()
    events = [each.event for each in made.happenings() if each.event.kind == "xid"]
    assert [(event.where["gpu"], event.where["xid"]) for event in events] == [
        ("2", "31"),
        ("5", "79"),
        ("5", "79"),
    ]
    assert events[1].where["pci_bus_id"] == "00000000:6C:00.0"
    assert [v for (name, gpu, _), v in found.items() if (name, gpu) == ("DCGM_FI_DEV_XID_ERRORS", "5")] == [
        79
    ]
    assert made.labels("DCGM_FI_DEV_XID_ERRORS", "5")[0]["err_code"] == "79"
    made.read()
    assert not made.happenings()
