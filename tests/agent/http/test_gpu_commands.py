"""Letting go of the GPUs' driver on command, over the agent's socket."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.sources import reading, steady
from vigie.agent.http.gpu_commands import GpuCommands
from vigie.agent.http.server import Request, Response
from vigie.agent.http.unix_socket import UnixPeer
from vigie.agent.source_reader import SourceReader
from vigie.simulation.clock import SimulatedClock
from vigie.simulation.nvml import gpu_models
from vigie.simulation.nvml.build import DCGM, NoCompilerError, build
from vigie.simulation.nvml.driver import SimulatedDriver
from vigie.sources import nvidia, nvidia_profiling
from vigie.sources._nvml.driver import NvmlDriver
from vigie.sources.core.host import Host
from vigie.wire.commands import GPUS_RELEASE, CommandOutcome

pytestmark = pytest.mark.process

ME = UnixPeer(os.geteuid())


WORDS: st.SearchStrategy[Any] = st.text(max_size=8).filter(
    lambda word: not word.strip().isdigit()
) | st.sampled_from([None, -1, 0, 1e300, float("nan"), [], {}, 10**400])


async def _awaited(answer: Awaitable[CommandOutcome]) -> CommandOutcome:
    return await answer


def answered(gpus: GpuCommands, path: str, query: str = "") -> Response:
    return asyncio.run(gpus.answer(Request(path, query, {}), ME))


def test_driver_is_let_go_and_taken_again(tmp_path: Path) -> None:
    try:
        simulated = SimulatedDriver(tmp_path / "driver", build(tmp_path), gpu_models.h100())
    except NoCompilerError as error:
        pytest.skip(str(error))
    driver = NvmlDriver(str(simulated.library), deadline=5)
    watched = SourceReader(nvidia.SOURCE, Host(nvml=driver), SimulatedClock())
    gpus = GpuCommands([reading(steady("one")), watched])
    watched.read()
    assert simulated.count_handles()
    status, body, *_ = answered(gpus, "/gpus/release", "seconds=600")
    assert (status, body.startswith(b"released by ")) == (200, True)
    assert not simulated.count_handles()
    watched.read()
    assert watched.reason.startswith("released by ")
    assert [each.event.kind for each in watched.host.event_changes][-1] == "gpus_released"
    assert answered(gpus, "/gpus/take").status == 200
    watched.read()
    assert watched.values.numbers
    order = gpus.handlers()[GPUS_RELEASE]
    tomorrow = {"seconds": 86_400, "by": "ann by way of the server"}
    done, said, _ = asyncio.run(_awaited(order(tomorrow)))
    assert done
    assert re.match(r"released by ann by way of the server until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d;", said)
    assert not simulated.count_handles()
    driver.close()


@pytest.mark.parametrize("query", ["", "seconds=0", "seconds=-1", "seconds=nan", "seconds=x", "seconds=1e9"])
def test_nonsense_for_a_time_is_refused(query: str) -> None:
    watched = SourceReader(nvidia.SOURCE, Host(nvml=NvmlDriver("libnone.so")), SimulatedClock())
    assert answered(GpuCommands([watched]), "/gpus/release", query).status == 400


@given(st.dictionaries(st.text(max_size=8) | st.sampled_from(["seconds", "by"]), WORDS, max_size=4))
def test_order_with_nonsense_is_refused_and_breaks_nothing(arguments: dict[str, object]) -> None:
    watched = SourceReader(nvidia.SOURCE, Host(nvml=NvmlDriver("libnone.so")), SimulatedClock())
    arguments["seconds"] = arguments.get("seconds")
    done, said, _ = asyncio.run(_awaited(GpuCommands([watched]).handlers()[GPUS_RELEASE](arguments)))
    assert (done, "invalid seconds" in said) == (False, True)


def test_agent_without_gpus_says_so() -> None:
    assert answered(GpuCommands([reading(steady("one"))]), "/gpus/release", "seconds=1").status == 404


def test_profiling_is_paused_for_a_profiler_and_goes_on(tmp_path: Path) -> None:
    script = [*gpu_models.a100(), "system listens /engine", "* dcgm.1002 0.5"]
    try:
        simulated = SimulatedDriver(tmp_path / "driver", build(tmp_path), script)
        shutil.copyfile(build(tmp_path, DCGM), library := tmp_path / "driver" / "libdcgm.so.4")
    except NoCompilerError as error:
        pytest.skip(str(error))
    driver = NvmlDriver(str(simulated.library), deadline=5)
    options = {"dcgm": "/engine", "dcgm_library": str(library), "fields": "1002"}
    watched = SourceReader(nvidia_profiling.SOURCE, Host(nvml=driver, options=options), SimulatedClock())
    gpus = GpuCommands([watched])
    assert answered(gpus, "/gpus/pause", "seconds=60").status == 409
    watched.read()
    assert watched.values.numbers
    assert answered(gpus, "/gpus/pause", "seconds=60").body.startswith(b"profiling paused by ")
    watched.read()
    assert "paused by" in watched.reason
    assert answered(gpus, "/gpus/resume").status == 200
    watched.read()
    assert set(watched.values.numbers) == {0.5}
    watched.host.close()
    driver.close()
