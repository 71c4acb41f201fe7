"""What the server says of itself: whether it is ready, and metrics that are all documented."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette

from tests.server.asgi import Answer, call
from tests.server.whole import whole
from vigie.server.api.health import Readiness, check_free_space, health_routes
from vigie.server.metrics import ServerMetrics
from vigie.store.filesystem import DiskSpace

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def test_server_is_ready_or_says_why_not(tmp_path: Path) -> None:
    async def test() -> None:
        with whole(tmp_path) as (app, _, readiness):

            async def ask(path: str) -> Answer:
                return await asyncio.to_thread(call, app, "GET", path)

            assert (await ask("/readyz"))[::2] == (200, b"ok\n")
            assert (await ask("/-/ready"))[::2] == (200, b"vigie server is Ready.\n")
            readiness.stopping = True
            assert (await ask("/readyz")).json["reasons"] == ["the server is being stopped"]
            assert (await ask("/healthz")).status == 200

    asyncio.run(test())


@pytest.mark.parametrize("path", ["/readyz", "/-/ready"])
def test_check_that_fails_is_the_reason(path: str) -> None:
    readiness = Readiness([lambda: "", lambda: "the disk is full"])
    metrics = ServerMetrics(lambda: (0, 0, 0, 0), lambda: 0)
    hindered = call(Starlette(routes=health_routes(metrics, readiness.reasons)), "GET", path)
    assert hindered.status == 503
    assert hindered.json == {"ready": False, "reasons": ["the disk is full"]}


@pytest.mark.parametrize(("free", "full"), [(0, True), (9, True), (10, False), (900, False)])
def test_full_disk_is_a_reason(free: int, full: bool) -> None:
    readiness = Readiness([check_free_space(Path("/data"), lambda _: DiskSpace(free, 1000))])
    assert bool(readiness.reasons()) == full


def test_every_metric_of_the_server_is_in_the_reference(tmp_path: Path) -> None:
    async def ask() -> str:
        with whole(tmp_path) as (app, *_):
            return (await asyncio.to_thread(call, app, "GET", "/metrics")).body.decode()

    names = set(re.findall(r"^# TYPE (vigie_\w+) ", asyncio.run(ask()), re.MULTILINE))
    documented = set(re.findall(r"^\| `(vigie_\w+)` ", REFERENCE.read_text(), re.MULTILINE))
    assert names - documented == set()
    wanted = "requests_running connections waiting store_bytes links targets queries_total samples_total"
    assert {f"vigie_server_{word}" for word in wanted.split()} <= names
