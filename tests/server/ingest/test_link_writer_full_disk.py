"""A server that can store nothing: nothing is acknowledged, and it is not dialled all the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.linking import agent, run, serving, until
from vigie.agent.link.client import FIRST_WAIT
from vigie.store.errors import WriteFailedError
from vigie.store.store import Store

pytestmark = pytest.mark.process


class Full(Store):
    """A store whose disk is full."""

    def sync(self) -> None:
        raise WriteFailedError("no space left on device")


def test_nothing_is_acknowledged_that_was_not_synced(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", store_type=Full) as place, agent(place, tmp_path, "n1") as n1:
            await n1.connected()
            n1.send(1.0)
            await until(lambda: not n1.link.counters.connected)
            assert n1.link.buffer.in_memory == 1
            assert n1.link.counters.acknowledged == 0

    run(test())


def test_server_that_welcomes_and_can_store_nothing_is_dialled_less_and_less_often(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", store_type=Full) as place, agent(place, tmp_path, "n1") as n1:
            n1.send(1.0)
            await until(lambda: n1.link.wait > 4 * FIRST_WAIT)
            assert n1.link.counters.connections > 1

    run(test())


def test_connection_that_took_something_is_made_anew_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s") as place, agent(place, tmp_path, "n1") as n1:
            n1.link.wait = 16.0
            n1.send(1.0)
            await n1.acknowledged()
            place.hub.links._live["n1"].end("come again")
            await until(lambda: n1.link.counters.connections == 2)
            assert n1.link.wait == FIRST_WAIT

    run(test())
