"""Profiling counters of GPUs before Hopper: by DCGM, as one polite client of an engine."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vigie.simulation.dcgm
from tests.sources.nvidia.conftest import Make
from tests.sources.nvidia.gpus import Machine, until
from vigie.agent.source_reader import Outcome
from vigie.simulation.nvml import gpu_models
from vigie.simulation.nvml.build import DCGM, build
from vigie.sources._dcgm import abi
from vigie.sources._dcgm.clients import RunningEngine
from vigie.sources._dcgm.engine import SOCKET, read
from vigie.sources._dcgm.profiler import Profiler, ProfilerSettings
from vigie.sources._nvml.profiling_fields import ROWS, select_fields

SOURCE = "nvidia_profiling"
TABLE = (Path(vigie.simulation.dcgm.__file__).parent / "layouts.txt").read_text().splitlines()
LAYOUTS = {words[0]: words[1:] for words in map(str.split, TABLE) if words[0] not in ("#", "version")}
COUNTED = [f"* dcgm.{row.field} {0.5 if row.field not in range(1009, 1013) else 2e9}" for row in ROWS]

Dcgm = Callable[..., Machine]


@pytest.fixture
def dcgm(machine: Make, built: Path, tmp_path: Path) -> Dcgm:
    """Make a machine of eight A100 whose engine listens where it is told to."""

    def make(*lines: str, listens: str = SOCKET, name: str = "libdcgm.so.4", **profiling: str) -> Machine:
        library = tmp_path / "driver0" / name
        options = {"dcgm": "auto", "dcgm_library": str(library), "dcgm_interval": "1", **profiling}
        made = machine([*gpu_models.a100(), *COUNTED, f"system listens {listens}", *lines], profiling=options)
        shutil.copyfile(build(built.parent, DCGM), library)
        return made

    return make


def _engine(made: Machine) -> dict[str, str]:
    """Return what the engine remembers: by client and kind, what it was told."""
    place = made.simulated.library.parent / "engine"
    return {path.name: path.read_text() for path in place.iterdir()} if place.exists() else {}


def _profiler(made: Machine) -> Profiler:
    found: Profiler = made.readings[SOURCE].host.cache["profiler"]
    return found


def _counters(made: Machine, gpu: str = "1") -> dict[str, float]:
    return {name: value for (name, index, _), value in made.read(SOURCE).items() if index == gpu}


@pytest.mark.parametrize("name", ["libdcgm.so.3", "libdcgm.so.4"])
@pytest.mark.parametrize("listens", [SOCKET, "127.0.0.1:5555"])
def test_running_engine_gives_every_counter_as_ratios_and_bytes(dcgm: Dcgm, listens: str, name: str) -> None:
    made = dcgm("1 dcgm.1002 0.25", listens=listens, name=name)
    found = _counters(made)
    assert len(found) == len(ROWS)
    assert found["DCGM_FI_PROF_SM_ACTIVE"] == 0.25
    assert found["DCGM_FI_PROF_NVLINK_TX_BYTES"] == 2e9
    assert made.labels("DCGM_FI_PROF_SM_ACTIVE", "1", SOURCE)[0]["UUID"].startswith("GPU-a1000001")
    assert {text for what, text in _engine(made).items() if ".client." in what} == {listens}


def test_only_our_own_groups_are_watched_at_the_interval_and_removed_at_the_end(dcgm: Dcgm) -> None:
    made = dcgm(dcgm_interval="7")
    made.read(SOURCE)
    watches = [text for what, text in _engine(made).items() if ".watch." in what]
    assert watches == ["7000000"] * 7
    names = {text for what, text in _engine(made).items() if ".group." in what}
    assert all(name.startswith(f"vigie-{os.getpid()}-GPU-") for name in names)
    made.readings[SOURCE].host.close()
    assert _engine(made) == {}


def test_blank_values_are_absent_with_the_reason(dcgm: Dcgm) -> None:
    made = dcgm("1 dcgm.1004 none", "1 dcgm.1011 none", f"1 dcgm.1005 {abi.BLANK_DOUBLE}")
    found = _counters(made)
    assert len(found) == len(ROWS) - 3
    notes = made.notes(SOURCE)
    assert "GPU 1: from DCGM: not supported by this GPU" in notes["DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"]
    assert "not supported" in notes["DCGM_FI_PROF_NVLINK_TX_BYTES"]
    assert "no value yet" in notes["DCGM_FI_PROF_DRAM_ACTIVE"]


def test_split_gpu_says_why_it_has_no_counters(dcgm: Dcgm) -> None:
    made = dcgm()
    made.read(SOURCE)
    assert "MIG" in made.notes(SOURCE)["DCGM_FI_PROF_SM_ACTIVE"]


def test_gpu_that_dcgm_does_not_count_says_why(dcgm: Dcgm) -> None:
    made = dcgm("system error.profiling -36")
    made.read(SOURCE)
    assert "from DCGM: the GPU has no profiling counters" in made.outcome(SOURCE)[1]


def test_counters_that_cannot_be_counted_at_once_give_way_to_the_usual_ones(dcgm: Dcgm) -> None:
    made = dcgm("system most_fields 12")
    assert sorted(_counters(made)) == sorted(row.metric.name for row in ROWS if row.field < 1013)


def test_fields_are_chosen_by_id_by_name_and_by_a_list_of_dcgm_exporter(dcgm: Dcgm, tmp_path: Path) -> None:
    listed = tmp_path / "counters.csv"
    listed.write_text(
        "# Format\nDCGM_FI_DEV_GPU_TEMP, gauge, x\nDCGM_FI_PROF_SM_ACTIVE, gauge, The ratio, of.\n"
    )
    assert [row.field for row in select_fields(str(listed), pipes=True)] == [1002]
    assert [row.field for row in select_fields("50,100,155,204,1001-1012", pipes=True)] == list(
        range(1001, 1013)
    )
    assert not any("PIPE" in row.metric.name for row in select_fields("", pipes=False))
    for wrong in ("nonsense", "50", "/no/such/file"):
        with pytest.raises(ValueError, match=r"use profiling|cannot be read"):
            select_fields(wrong, pipes=True)
    made = dcgm(fields="1002,DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", pipes="false")
    assert list(_counters(made)) == ["DCGM_FI_PROF_SM_ACTIVE"]


def test_second_client_of_the_engine_is_not_disturbed(dcgm: Dcgm) -> None:
    made = dcgm()
    other = RunningEngine(str(made.simulated.library.parent / "libdcgm.so.4"), (SOCKET,), 1.0, (1002,))
    uuid = "GPU-a1000001-1111-2222-3333-444455556666"
    assert other.latest([uuid]) == {uuid: {1002: 0.5}}
    made.read(SOURCE)
    made.readings[SOURCE].host.close()
    assert other.latest([uuid]) == {uuid: {1002: 0.5}}
    assert sum(".watch." in what for what in _engine(made)) == 1
    other.close()
    assert _engine(made) == {}


def test_pause_is_said_ends_by_itself_and_is_taken_back_at_the_end(dcgm: Dcgm) -> None:
    made = dcgm()
    made.read(SOURCE)
    said = _profiler(made).pause(600, "root")
    assert said.startswith("profiling paused by root until ")
    assert "paused" in _engine(made)
    made.read(SOURCE)
    assert made.outcome(SOURCE)[0] is Outcome.UNAVAILABLE
    assert said in made.outcome(SOURCE)[1]
    _profiler(made).pause(0, "root")
    assert len(_counters(made)) == len(ROWS)
    assert "paused" not in _engine(made)
    _profiler(made).pause(600, "root")
    made.readings[SOURCE].host.close()
    assert _engine(made) == {}


def test_gpus_that_are_released_are_not_watched_either(dcgm: Dcgm) -> None:
    made = dcgm()
    made.read(SOURCE)
    assert made.driver.release(60, "root") == ""
    assert _engine(made) == {}
    made.driver.resume()
    assert len(_counters(made)) == len(ROWS)


def test_without_dcgm_the_reason_says_what_is_missing(dcgm: Dcgm) -> None:
    made = dcgm(listens="nowhere")
    made.read(SOURCE)
    assert "requires Hopper or newer; no DCGM: no host engine" in made.outcome(SOURCE)[1]
    (made.simulated.library.parent / "libdcgm.so.4").unlink()
    gone = dcgm(dcgm_library="/no/libdcgm.so")
    gone.read(SOURCE)
    assert "/no/libdcgm.so" in gone.outcome(SOURCE)[1]


def test_engine_that_goes_and_comes_back_is_picked_up(dcgm: Dcgm) -> None:
    made = dcgm()
    made.read(SOURCE)
    made.say(over := "system error.dcgm* -21")
    made.read(SOURCE)
    assert "no host engine" in made.outcome(SOURCE)[1]
    made.simulated.clear(over)
    _profiler(made)._retry = 0
    assert len(_counters(made)) == len(ROWS)


def test_engine_that_hangs_costs_only_these_counters_and_is_asked_again(dcgm: Dcgm) -> None:
    made = dcgm()
    made.read(SOURCE)
    _profiler(made)._lane.deadline = 0.05
    made.say(hang := "system hang.dcgmGetLatestValues_v2 60")
    made.read(SOURCE)
    assert "DCGM engine does not respond" in made.outcome(SOURCE)[1]
    made.read(SOURCE)
    assert "DCGM engine hangs" in made.outcome(SOURCE)[1]
    assert made.read("nvidia")
    made.simulated.clear(hang)
    until(lambda: len(_counters(made)) == len(ROWS))


def test_embedded_engine_lives_in_a_child_and_ends_with_the_agent(dcgm: Dcgm) -> None:
    made = dcgm(listens="nowhere", dcgm="embedded")
    made.read(SOURCE)
    until(lambda: len(_counters(made)) == len(ROWS))
    (client,) = (what for what, text in _engine(made).items() if text == "embedded")
    child = int(client.partition(".")[0])
    assert child != os.getpid()
    _profiler(made).pause(0.001, "root")
    until(lambda: len(_counters(made)) == len(ROWS))
    os.kill(child, signal.SIGKILL)
    until(lambda: not _counters(made))
    _profiler(made)._retry = 0
    until(lambda: len(_counters(made)) == len(ROWS))
    made.readings[SOURCE].host.close()
    assert not made.readings[SOURCE].host.cache["profiler"]._client


def test_embedded_engine_that_takes_longer_to_start_than_is_waited_for_is_used_then(dcgm: Dcgm) -> None:
    made = dcgm(hang := "system hang.dcgmStartEmbedded 60", listens="nowhere", dcgm="embedded")
    profiler = made.readings[SOURCE].host.cache["profiler"] = Profiler(
        ProfilerSettings("embedded", str(made.simulated.library.parent / "libdcgm.so.4"), 1.0, (1002,)),
        deadline=0.05,
    )
    made.readings[SOURCE].host.on_close.append(profiler.close)
    made.read(SOURCE)
    assert "DCGM engine does not respond" in made.outcome(SOURCE)[1]
    made.simulated.clear(hang)
    until(lambda: profiler._last.done)
    profiler._lane.deadline = 60
    assert _counters(made) == {"DCGM_FI_PROF_SM_ACTIVE": 0.5}


def test_child_ends_with_the_agent_even_while_it_hangs_in_a_call(dcgm: Dcgm) -> None:
    made = dcgm("system hang.dcgmStartEmbedded 600", listens="nowhere", dcgm="embedded")
    library = str(made.simulated.library.parent / "libdcgm.so.4")
    command = [sys.executable, "-m", "vigie.sources._dcgm.child", library, "1", "1002"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    try:
        assert child.stdin
        child.stdin.close()  # as the kernel does when the agent is killed
        assert child.wait(60) == 0
    finally:
        child.kill()


def test_gpu_whose_counters_a_profiler_uses_is_watched_when_it_has_let_go(dcgm: Dcgm) -> None:
    made = dcgm(used := "system error.profiling -34")
    made.read(SOURCE)
    assert "counters are in use by a profiler" in made.outcome(SOURCE)[1]
    made.simulated.clear(used)
    client = _profiler(made)._client
    assert isinstance(client, RunningEngine)
    client._engine.retry = 0
    assert len(_counters(made)) == len(ROWS)


@pytest.mark.parametrize(
    ("name", "ours"),
    [("dcgmConnectV2Params_v2", abi.ConnectParams), ("dcgmFieldValue_v1", abi.DcgmFieldValue)],
)
def test_structures_have_the_published_places(built: Path, name: str, ours: Any) -> None:
    size_of = ctypes.CDLL(str(build(built.parent, DCGM))).simulated_size_of
    size_of.restype = ctypes.c_ulong
    size, *places = LAYOUTS[name]
    assert ctypes.sizeof(ours) == size_of(name.encode()) == int(size)
    assert {f"{member}={getattr(ours, member).offset}" for member, *_ in ours._fields_} == set(places)


@given(st.binary(min_size=32, max_size=32))
def test_any_bytes_of_a_field_are_a_number_or_a_reason(data: bytes) -> None:
    value = read(abi.DcgmFieldValue.from_buffer_copy(data + bytes(ctypes.sizeof(abi.DcgmFieldValue) - 32)))
    assert isinstance(value, str) or abs(value) < abi.BLANK_DOUBLE or value < 2**63
