"""A server that takes links and agents that dial it, all in one event loop."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from vigie.agent.link.buffer import LinkBuffer
from vigie.agent.link.client import LinkClient, ServerPeer
from vigie.agent.link.commands import CommandRunner
from vigie.agent.link.credentials import LinkCredentials
from vigie.agent.link.hello import NodeDescription
from vigie.model import Frame, Metric, Table, gauge
from vigie.query.storage import Matcher
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.auth.delegated_auth import DelegatedAuth
from vigie.server.auth.secrets import Secrets
from vigie.server.cluster.events import EventFilter, StoredEvent
from vigie.server.http.protocols import LinkProtocol, ServerProtocol
from vigie.server.ingest.link_session import FrameSink
from vigie.server.services import LinkHub
from vigie.store.store import Store
from vigie.wire import messages

DAY = 86_400_000
PATIENCE = 60.0
LOAD = gauge("load", "A load.")
BUSY = gauge("busy", "How busy.", "cpu")


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run a test within a bound."""

    async def bounded() -> None:
        async with asyncio.timeout(180):
            await test

    asyncio.run(bounded())


async def until(condition: Callable[[], Any]) -> None:
    """Return when the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        await asyncio.sleep(0.005)


def table(name: str, *series: tuple[Metric, tuple[str, ...]], version: int = 1) -> Table:
    return Table(name, version, series)


ONE = table("one", (LOAD, ()))


class Place:
    """A running server and what it has."""

    def __init__(self, hub: LinkHub, store: Store, secrets: Secrets, port: int) -> None:
        self.hub, self.store, self.secrets, self.port = hub, store, secrets, port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def samples(self, name: str, **labels: str) -> dict[int, float]:
        """Return the samples of one series by their times."""
        matchers = [Matcher("__name__", "=", name), *(Matcher(n, "=", v) for n, v in labels.items())]
        found: dict[int, float] = {}
        for group in self.store.select(matchers, 0, 1 << 60):
            for row in group.values:
                pairs = zip(group.times.tolist(), row.tolist(), strict=True)
                found.update((time, value) for time, value in pairs if value == value)
        return found

    def events(self, kind: str = "") -> list[StoredEvent]:
        return self.hub.events.find(EventFilter(kind=kind))

    def state(self, node: str) -> str:
        found = self.hub.nodes.find(node)
        return found.state if found else "unknown"


@contextlib.asynccontextmanager
async def serving(
    directory: Path,
    port: int = 0,
    clock: Callable[[], int] = now_ms,
    answer_seconds: float = 1.0,
    store_type: type[Store] = Store,
    pass_on: FrameSink | None = None,
    is_scraped: Callable[[str, str], bool] = lambda _instance, _job: False,
    delegated_auth: DelegatedAuth | None = None,
) -> AsyncIterator[Place]:
    """Serve links."""
    if not directory.exists():
        shutil.copytree(_with_secrets(), directory)
    with store_type(directory / "store") as store, contextlib.ExitStack() as opened:
        secrets = Secrets(directory)
        opened.callback(secrets.close)
        hub = LinkHub(
            directory,
            store,
            secrets,
            clock,
            15 * DAY,
            answer_seconds,
            pass_on,
            is_scraped=is_scraped,
            delegated_auth=delegated_auth,
        )
        opened.callback(hub.close)
        server = _Quiet(
            uvicorn.Config(
                Starlette(routes=hub.routes()),
                http=ServerProtocol,
                ws=LinkProtocol,
                ws_per_message_deflate=False,
                ws_ping_interval=None,
                ws_max_size=messages.MAX_MESSAGE,
                lifespan="off",
                log_config=None,
                access_log=False,
            )
        )
        with socket.create_server(("127.0.0.1", port)) as bound:
            task = asyncio.ensure_future(server.serve([bound]))
            try:
                yield Place(hub, store, secrets, bound.getsockname()[1])
            finally:
                server.should_exit = True
                await task


@functools.cache
def _with_secrets() -> Path:
    """Return a data directory with secrets, which take their time to be made."""
    directory = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, directory)
    Secrets(directory).close()
    return directory


class _Quiet(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def introduction(
    node: str, start: str = "", boot_id: str = "boot", machine_id: str = "", listen: str = ""
) -> NodeDescription:
    who = start or f"start-of-{node}", boot_id, machine_id or f"machine-of-{node}"
    return NodeDescription(node, 10.0, {"rack": "r1"}, *who, listen)


class Agent:
    """An agent's link, under way."""

    def __init__(
        self,
        place: Place,
        home: Path,
        me: NodeDescription,
        token: str | None = None,
        commands: CommandRunner | None = None,
    ) -> None:
        credentials = LinkCredentials(
            home / "key", token_argument=place.secrets.join_token if token is None else token
        )
        self.link = LinkClient(ServerPeer(place.url, credentials), me, LinkBuffer(None, me.boot_id), commands)
        self._running = asyncio.ensure_future(self.link.run())

    async def connected(self) -> Agent:
        await until(lambda: self.link.counters.connected)
        return self

    def send(self, *values: float, at: int | None = None, table: Table = ONE) -> int:
        time_ms = now_ms() if at is None else at
        self.link(Frame(time_ms, ((table, values),)))
        return time_ms

    async def acknowledged(self) -> None:
        await until(lambda: self.link.buffer.in_memory == 0)

    async def stop(self) -> None:
        self.link.stop()
        await self._running

    async def ended(self) -> None:
        """Return when the link has given up."""
        await self._running


@contextlib.asynccontextmanager
async def agent(
    place: Place, home: Path, node: str, token: str | None = None, **facts: str
) -> AsyncIterator[Agent]:
    """Run an agent that stops at the end."""
    made = Agent(place, home, introduction(node, **facts), token)
    try:
        yield made
    finally:
        await made.stop()


@contextlib.asynccontextmanager
async def raw(place: Place, token: str | None = None) -> AsyncIterator[ClientConnection]:
    """Dial as anything that has the token might."""
    shown = place.secrets.join_token if token is None else token
    headers: Mapping[str, str] = {"Authorization": f"Bearer {shown}"}
    url = place.url.replace("http", "ws") + "/link"
    async with connect(url, additional_headers=headers, compression=None, proxy=None) as socket:
        yield socket


async def heard_out(socket: ClientConnection) -> None:
    """Return when the other side has closed."""
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.recv()


async def said(socket: ClientConnection) -> messages.Message | None:
    data = await socket.recv()
    assert isinstance(data, bytes)
    return messages.decode(data)
