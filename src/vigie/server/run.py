"""The server: its parts put together, started, and stopped cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import logging
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import uvicorn
from starlette.types import ASGIApp

from vigie.agent import ports
from vigie.agent.agent import split
from vigie.agent.link.messages import MAX_MESSAGE
from vigie.agent.notify import notify
from vigie.query.budget import Limits
from vigie.server import app, opening
from vigie.server.access.callers import Callers, Doors
from vigie.server.access.secrets import Secrets
from vigie.server.api import forward
from vigie.server.api.queries import now_ms
from vigie.server.api.readers import Readers
from vigie.server.api.writer import Writer
from vigie.server.connection import Connection
from vigie.server.greeting import advice, greet
from vigie.server.link.hub import Hub
from vigie.server.own import Own
from vigie.server.scrape.parts import Scraping
from vigie.server.scrape.rules import Rules
from vigie.sinks._remote_write_metrics import RemoteWriteTable
from vigie.sinks.remote_write import RemoteWrite
from vigie.store.errors import StoreError
from vigie.store.place import FOLDER
from vigie.store.retention import Retention
from vigie.store.store import Store

log = logging.getLogger(__name__)

UPKEEP_SECONDS = 10.0
STOP_SECONDS = 15
TRIES = 20  # ports
MAX_CONNECTIONS = 20_000  # agents stay connected


class CannotStart(Exception):
    """The server cannot run as asked; the message says why and what to type."""


class Plan(NamedTuple):
    """What to run, resolved from the configuration."""

    listen: str
    data: Path
    limits: Limits
    retention: Retention
    flags: Mapping[str, str]
    reading: forward.Forwards | None = None  # instead of the embedded store
    writing: forward.WriteOn | None = None
    doors: Doors = Doors()
    tls: ssl.SSLContext | None = None
    admin_password: str = ""
    scrape: Rules = Rules()
    file_sd: Path | None = None
    remote_write: Callable[[], RemoteWrite] | None = None  # what is taken goes there too


class Beside(Protocol):
    """What runs with the server, from its first answer on, and ends before it."""

    def start(self, address: str) -> None:
        """Start; the server listens there."""

    async def stop(self) -> None:
        """End."""


async def run(plan: Plan, beside: Beside | None = None) -> None:
    """Run until SIGINT or SIGTERM."""
    _allow_many_files()
    with contextlib.ExitStack() as opened:
        secrets = opened.enter_context(contextlib.closing(Secrets(plan.data)))
        if plan.admin_password:
            secrets.take_password(plan.admin_password)
        routes = _routes(plan, Callers(secrets, plan.doors), opened)
        listening = opened.enter_context(_listening(plan.listen))
        server = _Server(
            uvicorn.Config(
                routes,
                http=Connection,
                ws="websockets-sansio",
                ws_per_message_deflate=False,
                ws_max_size=MAX_MESSAGE,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # whom to believe about that is for access to say
                limit_concurrency=MAX_CONNECTIONS,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        server.config.load()
        server.config.ssl = plan.tls
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _stop, server, beside)
        _announce(listening, secrets, bool(plan.tls))
        if beside:
            beside.start(_address(listening, bool(plan.tls)))
        await server.serve([listening])
    log.info("stopped")


def _allow_many_files() -> None:
    """Let as many files be open as the system allows: each agent stays connected."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _stop(server: _Server, beside: Beside | None) -> None:
    """Stop, whatever runs beside the server first."""
    if beside and not server.stopping:
        server.stopping = asyncio.ensure_future(beside.stop())
        server.stopping.add_done_callback(lambda _: server.stop())
    else:
        server.stop()


class _Server(uvicorn.Server):
    """A uvicorn that leaves the signals to us."""

    stopping: asyncio.Future[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def stop(self) -> None:
        """Listen no more, finish what is under way, and return from serve."""
        notify("STOPPING=1")
        self.should_exit = True


def _routes(plan: Plan, callers: Callers, opened: contextlib.ExitStack) -> ASGIApp:
    if plan.reading:
        return forward.build(plan.reading, plan.writing, Own(lambda: (0, 0, 0, 0), lambda: 0), callers)
    store = opened.enter_context(opening.opened(plan.data / FOLDER, plan.retention))
    readers = Readers(store, plan.limits)
    opened.callback(readers.close)
    own = Own(
        lambda: (*store.bytes_on_disk(), len(store.damages), store.series_count()), lambda: readers.forks
    )
    sink = _sink(plan, own, opened)
    passing_on = sink.write_series if sink else lambda _: None
    writer = Writer(store, own, now_ms, plan.retention.age_ms, passing_on)
    opened.callback(writer.close)
    upkeep = Upkeep(store)
    opened.callback(upkeep.close)
    age_ms = plan.retention.age_ms
    scraping = Scraping(plan.data, store, plan.scrape, now_ms, age_ms, file_sd=plan.file_sd)
    opened.callback(scraping.close)
    own.tables.append(scraping.table)
    hub = Hub(plan.data, store, callers.secrets, now_ms, age_ms, pass_on=sink)
    opened.callback(hub.close)
    own.tables.append(hub.table)
    parts = app.Parts(readers, writer.write, own, callers, plan.limits, plan.flags)
    days = f"{age_ms / 86_400_000:g}d"
    parts = parts._replace(targets=scraping.active, families=scraping.families)
    return app.build(parts._replace(retention=days, more=[*scraping.routes(), *hub.routes()]))


def _sink(plan: Plan, own: Own, opened: contextlib.ExitStack) -> RemoteWrite | None:
    """Return what passes on what the server takes, if that is wanted."""
    if plan.remote_write is None:
        return None
    sink = plan.remote_write()
    opened.callback(sink.close)
    own.tables.append(RemoteWriteTable(sink))
    return sink


class Upkeep:
    """Calls the store's upkeep every ten seconds, in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End after the turn that is under way."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        said = ""
        while not self._stop.wait(UPKEEP_SECONDS):
            try:
                self._store.maintain(now_ms())
                said = ""
            except (
                Exception
            ) as error:  # whatever it is, the next turn may succeed, and without any the log grows
                if str(error) != said:  # once a change, not every ten seconds
                    said = str(error)
                    unknown = None if isinstance(error, StoreError | OSError) else error
                    log.error("upkeep of the store: %s", error, exc_info=unknown)


def _listening(listen: str) -> socket.socket:
    """Return a socket on the address, or on the next free port."""
    host, port = split(listen)
    for offset in range(TRIES):
        try:
            bound = socket.create_server(
                (host, port + offset), family=socket.AF_INET6 if ":" in host else socket.AF_INET
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CannotStart(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
            log.warning("port %d is taken by %s", port + offset, ports.holder(port + offset))
        else:
            # Connections take it over; asyncio does not set it on these, and an answer would wait 40 ms.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return bound
    raise CannotStart(f"ports {port} to {port + TRIES - 1} are taken; choose another: vigie server --listen")


def _address(listening: socket.socket, encrypted: bool) -> str:
    host, port = listening.getsockname()[:2]
    scheme = "https" if encrypted else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _announce(listening: socket.socket, secrets: Secrets, encrypted: bool) -> None:
    host = listening.getsockname()[0]
    where = _address(listening, encrypted)
    log.info("%s answers Prometheus's API; point Grafana's Prometheus data source at it", where)
    log.info("%s", advice(secrets))
    if not encrypted and not ipaddress.ip_address(host).is_loopback:
        log.warning("passwords and tokens cross the network in the clear; see --tls-cert and --tls-key")
    greet(secrets, where)
    notify(f"READY=1\nSTATUS={where}")
