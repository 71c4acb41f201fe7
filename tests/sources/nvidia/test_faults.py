"""Drivers that are absent, old, unloaded or refuse; GPUs that are lost, return, or hang."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from tests.sources.nvidia.conftest import Make
from tests.sources.nvidia.gpus import Machine, until
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.model import Phase
from vigie.simulation.clock import SimulatedClock
from vigie.simulation.nvml import gpu_models
from vigie.sources import nvidia
from vigie.sources._nvml.driver import NvmlDriver
from vigie.sources._nvml.gpu import NvmlGpu
from vigie.sources.core.host import Host

OLD = (
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmSampleAlloc",
    "nvmlGpmSampleGet",
    "nvmlEventSetCreate",
)


def _gpus(machine: Machine) -> set[str]:
    return {gpu for name, gpu, _ in machine.read() if name == "DCGM_FI_DEV_GPU_TEMP"}


def test_machine_without_a_driver_says_so() -> None:
    host = Host(nvml=NvmlDriver("libno-such-driver.so.1"))
    reading = SourceReader(nvidia.SOURCE, host, SimulatedClock())
    reading.read()
    assert reading.outcome is Outcome.UNAVAILABLE
    assert "no NVIDIA driver: libno-such-driver.so.1" in reading.reason


def test_recorded_machine_has_no_driver() -> None:
    reading = SourceReader(nvidia.SOURCE, Host(), SimulatedClock())
    reading.read()
    assert reading.outcome is Outcome.UNAVAILABLE


def test_driver_that_is_too_old_to_be_opened_is_named(machine: Make) -> None:
    made = machine(gpu_models.geforce(), without=("nvmlInit_v2",))
    made.read()
    outcome, reason = made.outcome()
    assert outcome is Outcome.UNAVAILABLE
    assert "too old" in reason
    assert "nvmlInit_v2" in reason


def test_old_driver_gives_what_it_can_and_a_reason_for_the_rest(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "0 process.0 12 345"], without=OLD)
    found = made.read()
    # The old call counts what the driver keeps as used.
    assert found["DCGM_FI_DEV_FB_USED", "0", ""] == 41 * 1024
    assert ("DCGM_FI_DEV_FB_RESERVED", "0", "") not in found
    assert "before 510" in made.notes()["DCGM_FI_DEV_FB_RESERVED"]
    assert found["DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "0", ""] == 0
    assert made.read("nvidia_processes")["vigie_gpu_process_memory_bytes", "0", "12,"] == 345
    made.read("nvidia_profiling")
    assert made.outcome("nvidia_profiling")[1] == "profiling without DCGM requires Hopper or newer"
    made.read("nvidia_health")
    assert "too old" in made.notes("nvidia_health")["vigie_gpu_fabric_state"]


def test_driver_that_is_unloaded_and_loaded_again_is_picked_up(machine: Make) -> None:
    made = machine(gpu_models.h100())
    assert len(_gpus(made)) == 8
    made.say("system unloaded 1")
    assert not made.read()
    assert made.outcome()[0] is Outcome.UNAVAILABLE
    assert "driver not loaded" in made.outcome()[1]
    assert not made.read("nvidia_health")
    assert not made.simulated.count_handles()
    made.say("system unloaded 0")
    assert len(_gpus(made)) == 8


@pytest.mark.parametrize("why", ["unloaded 1", "error.nvmlSystemGetDriverVersion 999"])
def test_driver_that_cannot_be_opened_is_not_kept_loaded(machine: Make, why: str) -> None:
    made = machine([*gpu_models.geforce(), f"system {why}"])
    made.read()
    assert made.outcome()[0] is Outcome.UNAVAILABLE
    # Else the library of the next driver could not take its place.
    assert str(made.simulated.library) not in Path("/proc/self/maps").read_text()


def test_missing_permission_says_what_to_do(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "system error.nvmlInit_v2 4"])
    made.read()
    outcome, reason = made.outcome()
    assert outcome is Outcome.UNAVAILABLE
    assert "no permission" in reason
    assert "group of /dev/nvidia*" in reason


def test_lost_gpu_costs_only_itself_and_is_an_event_until_it_returns(machine: Make) -> None:
    made = machine(gpu_models.h100())
    assert len(_gpus(made)) == 8
    made.happenings()
    lost = "3 error.* 15"
    made.say(lost)
    assert _gpus(made) == {"0", "1", "2", "4", "5", "6", "7"}
    assert "fallen off the bus" in made.notes()["GPU 3"]
    made.read()
    (begun,) = made.happenings()
    assert (begun.event.kind, begun.phase, begun.event.where["gpu"]) == ("gpu_lost", Phase.BEGINS, "3")
    made.simulated.clear(lost)
    assert len(_gpus(made)) == 8
    (ended,) = made.happenings()
    assert (ended.phase, ended.event.where) == (Phase.ENDS, begun.event.where)


def test_only_gpu_that_is_lost_is_an_event_too(machine: Make) -> None:
    made = machine(gpu_models.geforce())
    made.read()
    made.say("0 error.* 15")
    assert made.read() == {}
    last = made.readings["nvidia"].host.event_changes[-1]
    assert (last.event.kind, last.event.where["gpu"], last.phase) == ("gpu_lost", "0", Phase.BEGINS)
    assert "fallen off the bus" in made.readings["nvidia"].reason


def test_gpu_that_needs_the_driver_opened_anew_is_found_again(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "3 error.nvmlDeviceGetName 15"], reopen=0)
    assert len(_gpus(made)) == 7
    assert "fallen off the bus" in made.notes()["GPU 3"]
    (begun,) = [each for each in made.happenings() if each.phase is Phase.BEGINS]
    made.simulated.clear("3 error.nvmlDeviceGetName 15")
    until(lambda: len(_gpus(made)) == 8)
    assert (Phase.ENDS, begun.event.where) in [(each.phase, each.event.where) for each in made.happenings()]


def test_gpu_that_failed_for_an_unknown_reason_at_the_opening_is_found_again(machine: Make) -> None:
    made = machine([*gpu_models.h100(), failure := "3 error.nvmlDeviceGetUUID 999"], reopen=0)
    assert len(_gpus(made)) == 7
    made.simulated.clear(failure)
    until(lambda: len(_gpus(made)) == 8)


def test_lost_gpu_that_vanishes_and_returns_is_found_again(machine: Make) -> None:
    made = machine(gpu_models.h100(), reopen=0)
    assert len(_gpus(made)) == 8
    made.happenings()
    made.say(lost := "7 error.* 15", fewer := "system count 7")
    until(lambda: len(_gpus(made)) == 7 and len(made.driver.gpus()) == 7)
    (begun,) = made.happenings()
    made.simulated.clear(lost, fewer)
    until(lambda: len(_gpus(made)) == 8)
    assert (Phase.ENDS, begun.event.where) in [(each.phase, each.event.where) for each in made.happenings()]


def test_driver_is_opened_anew_less_and_less_often_while_a_gpu_stays_lost(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "3 error.* 15"], reopen=0.01)
    opened: list[list[NvmlGpu]] = []
    end = time.monotonic() + 0.6

    def is_over() -> bool:
        made.read()
        gpus = made.driver.gpus()
        if all(gpus is not before for before in opened):
            opened.append(gpus)
        return time.monotonic() > end

    until(is_over)
    assert 2 <= len(opened) < 25, "0.01, 0.02 and then 0.04 s apart: always 0.01 s would be sixty"


def test_gpu_that_was_lost_before_a_restart_is_told_as_found_whichever_way_it_was_lost(machine: Make) -> None:
    made = machine(gpu_models.geforce())
    made.read()
    ended = [each.event.where for each in made.happenings() if each.phase is Phase.ENDS]
    assert {"gpu": "0"} in ended  # it could not be identified then
    assert any(where.get("uuid", "").startswith("GPU-") for where in ended)
    made.read()
    assert made.happenings() == []


def test_xid_that_came_before_listening_failed_is_told(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "system error.no_event 15"])
    made.read()
    made.happenings()
    made.say("3 xid 79")
    made.read()
    assert [said.event.where["xid"] for said in made.happenings() if said.event.kind == "xid"] == ["79"]


def test_gpu_that_hangs_costs_only_itself_and_is_asked_again_when_it_answers(machine: Make) -> None:
    made = machine(gpu_models.h100(), deadline=0.5)
    until(lambda: len(_gpus(made)) == 8)
    made.happenings()
    made.say(hang := "5 hang.nvmlDeviceGetPowerUsage 60")
    until(lambda: _gpus(made) == {"0", "1", "2", "3", "4", "6", "7"})
    until(lambda: len({gpu for _, gpu, _ in made.read("nvidia_health")}) == 7)
    until(lambda: len(_gpus(made)) == 7)  # it is not asked, so nobody waits for it
    assert "hangs" in made.notes()["GPU 5"]
    assert Phase.BEGINS in [each.phase for each in made.happenings() if each.event.where["gpu"] == "5"]
    assert "hangs" in made.driver.release(60, "ann")
    made.simulated.clear(hang)
    until(lambda: len(_gpus(made)) == 8)
    assert Phase.ENDS in [each.phase for each in made.happenings() if each.event.where["gpu"] == "5"]


def test_driver_that_takes_long_to_open_is_waited_for_elsewhere(machine: Make) -> None:
    made = machine([*gpu_models.geforce(), hang := "system hang.nvmlInit_v2 60"], deadline=0.1)
    made.read()
    assert "has been opening for" in made.outcome()[1]
    made.simulated.clear(hang)
    until(lambda: len(_gpus(made)) == 1)


def test_call_that_fails_now_and_then_is_tried_again(machine: Make) -> None:
    made = machine(gpu_models.geforce())
    made.say(failure := "0 error.nvmlDeviceGetPowerUsage 999")
    assert ("DCGM_FI_DEV_POWER_USAGE", "0", "") not in made.read()
    assert "unknown error" in made.notes()["DCGM_FI_DEV_POWER_USAGE"]
    made.simulated.clear(failure)
    assert made.read()["DCGM_FI_DEV_POWER_USAGE", "0", ""] == 30.125


def test_released_driver_is_not_held_open_and_comes_back_by_itself(machine: Make) -> None:
    made = machine(gpu_models.h100())
    made.read("nvidia_profiling")
    made.read()
    assert made.simulated.count_handles()
    assert made.driver.release(0.3, "ann") == ""
    assert not made.simulated.count_handles()
    made.read()
    assert made.outcome()[0] is Outcome.UNAVAILABLE
    assert made.outcome()[1].startswith("released by ann until ")
    assert not made.simulated.count_handles()
    until(lambda: len(_gpus(made)) == 8)


def test_driver_can_be_taken_again_before_its_time(machine: Make) -> None:
    made = machine(gpu_models.geforce())
    made.driver.release(3600, "ann")
    assert not made.read()
    made.driver.resume()
    assert made.read()


def test_temperature_that_is_a_marker_is_none(machine: Make) -> None:
    made = machine([*gpu_models.geforce(), "0 temperature.gpu 255"])
    assert ("DCGM_FI_DEV_GPU_TEMP", "0", "") not in made.read()
    assert made.notes()["DCGM_FI_DEV_GPU_TEMP"] == "GPU 0: invalid temperature 255"


def test_driver_of_another_version_is_loaded_without_a_restart(machine: Make) -> None:
    made = machine(gpu_models.geforce())
    made.read()
    made.say(mismatch := "* error.* 18")
    assert not made.read()
    assert "versions differ" in made.outcome()[1]
    library = made.simulated.library
    update = library.with_suffix(".new")
    shutil.copyfile(library, update)
    update.replace(library)
    made.simulated.clear(mismatch)
    made.say("system driver 560.35.03")
    assert made.read()
    assert made.labels("vigie_gpu_info", "0")[0]["driver"] == "560.35.03"
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(library) in line]
    assert {int(line.split()[4]) for line in mapped} == {library.stat().st_ino}
    assert not [line for line in mapped if line.endswith("(deleted)")]


def test_one_clock_that_is_not_there_costs_no_other(machine: Make) -> None:
    made = machine([*gpu_models.geforce(), "0 clock.mem none", "0 clock.max.sm none"])
    for _ in range(2):
        found = made.read()
        assert ("DCGM_FI_DEV_SM_CLOCK", "0", "") in found
        assert ("DCGM_FI_DEV_MEM_CLOCK", "0", "") not in found
        health = made.read("nvidia_health")
        assert ("DCGM_FI_DEV_MAX_MEM_CLOCK", "0", "") in health
        assert ("DCGM_FI_DEV_MAX_SM_CLOCK", "0", "") not in health


def test_kind_of_link_error_that_is_not_counted_costs_no_other(machine: Make) -> None:
    counted = [f"* link.{link}.error.{kind} 5" for link in range(18) for kind in range(3)]
    made = machine([*gpu_models.h100(), "* link.error none", *counted])
    for _ in range(2):
        found = made.read("nvidia_nvlink")
        assert found["vigie_gpu_nvlink_errors_total", "7", "17,crc_flit"] == 5
        assert not [key for key in found if key[2].endswith("crc_data")]
        assert "not supported" in made.notes("nvidia_nvlink")["vigie_gpu_nvlink_errors_total"]


def test_link_that_is_not_there_costs_no_other(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "2 link.4.absent 1"])
    for _ in range(2):
        found = made.read("nvidia_nvlink")
        links = {link for name, gpu, link in found if (name, gpu) == ("vigie_gpu_nvlink_up", "2")}
        assert links == {str(link) for link in range(18) if link != 4}
        assert ("vigie_gpu_nvlink_transmit_bytes_total", "2", "17") in found
        assert ("vigie_gpu_nvlink_errors_total", "2", "17,replay") in found


def test_memory_temperature_is_whole_whatever_type_the_driver_declares(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "* type.82 0"])
    assert made.read()["DCGM_FI_DEV_MEMORY_TEMP", "0", ""] == 70


def test_more_processes_than_are_listed_are_counted_and_the_reason_is_told(machine: Make) -> None:
    made = machine([*gpu_models.geforce(), *(f"0 process.{number} {number + 1} 5" for number in range(200))])
    found = made.read("nvidia_processes")
    assert found["vigie_gpu_processes", "0", ""] == 200
    assert "more than" in made.notes("nvidia_processes")["vigie_gpu_process_memory_bytes"]


def test_gpus_that_lack_the_same_for_different_reasons_are_all_told(machine: Make) -> None:
    made = machine([*gpu_models.h100(), "1 power.usage none", "[23] error.nvmlDeviceGetPowerUsage 999"])
    made.read()
    why = made.notes()["DCGM_FI_DEV_POWER_USAGE"]
    assert "GPU 1: not supported" in why
    assert "GPU 2-3: unknown error" in why


@pytest.mark.parametrize(("script", "counted"), [(gpu_models.h100(), True), (gpu_models.a100(), False)])
def test_driver_that_fails_when_asked_for_counters_is_tried(
    machine: Make, script: list[str], counted: bool
) -> None:
    made = machine([*script, "* error.nvmlGpmQueryDeviceSupport 3"])
    made.read("nvidia_profiling")
    assert made.outcome("nvidia_profiling")[1].startswith("needs two" if counted else "profiling of MIG")
    assert bool(counted and made.profile()) is counted
