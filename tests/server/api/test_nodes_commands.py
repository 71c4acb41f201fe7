"""What an admin has a node do: over its link, from a closed list, unless the node refuses it."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.server.linking import Agent, Place, introduction, run, serving, until
from tests.server.route_table import TABLE
from vigie import cli
from vigie.agent.link.commands import CommandRunner
from vigie.server.api.nodes import PATH
from vigie.server.http.routes import ADMIN
from vigie.wire.commands import GPUS_RELEASE, GPUS_TAKE, CommandOutcome

pytestmark = pytest.mark.process


class Driver:
    """What is told to let go."""

    def __init__(self) -> None:
        self.told: list[Mapping[str, Any]] = []

    async def release(self, arguments: Mapping[str, Any]) -> CommandOutcome:
        self.told.append(arguments)
        return CommandOutcome(True, f"released by {arguments['by']}")

    async def take(self, _: Mapping[str, Any]) -> CommandOutcome:
        return CommandOutcome(False, "one GPU hangs")


async def asked(place: Place, path: str) -> tuple[int, Any]:
    def post() -> tuple[int, Any]:
        request = urllib.request.Request(f"{place.url}/api/nodes/{path}", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    return await asyncio.to_thread(post)


def linked(place: Place, home: Path, driver: Driver, refused: tuple[str, ...] = ()) -> Agent:
    orders = {GPUS_RELEASE: driver.release, GPUS_TAKE: driver.take}
    return Agent(place, home, introduction("n1"), commands=CommandRunner(orders, refused))


def test_order_reaches_the_node_and_its_words_come_back(tmp_path: Path) -> None:
    async def test() -> None:
        driver = Driver()
        async with serving(tmp_path / "s") as place:
            n1 = await linked(place, tmp_path, driver).connected()
            status, said = await asked(place, "n1/gpus/release?for=90s")
            assert (status, said["node"]) == (200, "n1")
            assert said["said"].startswith("released by ")
            assert driver.told[0]["seconds"] == 90
            status, said = await asked(place, "n1/gpus/take")
            assert (status, said["error"]) == (409, "n1: one GPU hangs")
            await n1.stop()

    run(test())


def test_node_refuses_what_its_configuration_says(tmp_path: Path) -> None:
    async def test() -> None:
        driver = Driver()
        async with serving(tmp_path / "s") as place:
            n1 = await linked(place, tmp_path, driver, refused=(GPUS_RELEASE,)).connected()
            status, said = await asked(place, "n1/gpus/release")
            assert (status, "link.refuse" in said["error"]) == (409, True)
            assert not driver.told
            await n1.stop()

    run(test())


def test_order_that_fails_is_answered_and_so_is_one_whose_node_leaves(tmp_path: Path) -> None:
    class Odd(Driver):
        begun = asyncio.Event()

        async def release(self, _: Mapping[str, Any]) -> CommandOutcome:
            raise OSError("no such device")

        async def take(self, _: Mapping[str, Any]) -> CommandOutcome:
            self.begun.set()
            await asyncio.sleep(3600)
            raise AssertionError

    async def test() -> None:
        driver = Odd()
        async with serving(tmp_path / "s") as place:
            n1 = await linked(place, tmp_path, driver).connected()
            assert (await asked(place, "n1/gpus/release"))[1]["error"] == "n1: failed: no such device"
            session = place.hub.links._live["n1"]
            taking = asyncio.ensure_future(session.order(GPUS_TAKE, {}, seconds=3600))
            await driver.begun.wait()
            await n1.stop()
            assert await taking is None

    run(test())


def test_what_nobody_can_do_is_said_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            n1 = await linked(place, tmp_path, Driver()).connected()
            for path, status in (
                ("n2/gpus/release", 404),
                ("n1/gpus/reboot", 404),
                ("n1/gpus/release?for=0s", 400),
                ("n1/gpus/release?for=8d", 400),
                ("n1/gpus/release?for=soon", 400),
            ):
                assert (await asked(place, path))[0] == status, path
            await n1.stop()
            await until(lambda: place.hub.links.connected == 0)
            assert (await asked(place, "n1/gpus/take"))[0] == 503

    run(test())


def test_command_prints_what_the_node_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIGIE_TOKEN", "any")

    async def test() -> None:
        async with serving(tmp_path / "s") as place:
            n1 = await linked(place, tmp_path, Driver()).connected()
            flags = ["--node", "n1", "--server", place.url]
            assert await asyncio.to_thread(cli.main, ["gpus", "release", "--for", "1h", *flags]) == 0
            assert await asyncio.to_thread(cli.main, ["gpus", "take", *flags]) == 1
            assert await asyncio.to_thread(cli.main, ["gpus", "pause", *flags]) != 0
            await n1.stop()

    run(test())
    printed = capsys.readouterr()
    assert printed.out.startswith("n1: released by ")
    assert "one GPU hangs" in printed.err
    assert "use release or take" in printed.err


def test_only_an_admin_may() -> None:
    assert TABLE[f"POST {PATH}"] == ADMIN
