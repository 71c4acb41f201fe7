"""The server: its parts put together, started, and stopped cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import uvicorn
from starlette.types import ASGIApp

from vigie.agent import ports
from vigie.agent.agent import split
from vigie.agent.notify import notify
from vigie.agent.scrape_token import token_of
from vigie.query.budget import Limits
from vigie.server import app, forward
from vigie.server.connection import Connection
from vigie.server.own import Own
from vigie.server.queries import now_ms
from vigie.server.readers import Readers
from vigie.server.writer import Writer
from vigie.store.errors import StoreError
from vigie.store.place import FOLDER
from vigie.store.retention import Retention
from vigie.store.store import Store

log = logging.getLogger(__name__)

UPKEEP_SECONDS = 10.0
STOP_SECONDS = 15
TRIES = 20  # ports
MAX_CONNECTIONS = 1000


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


async def run(plan: Plan) -> None:
    """Run until SIGINT or SIGTERM."""
    token_file = plan.data / "server-token"
    token = token_of(token_file)
    with contextlib.ExitStack() as opened:
        routes = _routes(plan, token, opened)
        listening = opened.enter_context(_listening(plan.listen))
        server = _Server(
            uvicorn.Config(
                routes,
                http=Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
        _announce(listening, token_file)
        await server.serve([listening])
    log.info("stopped")


class _Server(uvicorn.Server):
    """A uvicorn that leaves the signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def stop(self) -> None:
        """Listen no more, finish what is under way, and return from serve."""
        notify("STOPPING=1")
        self.should_exit = True


def _routes(plan: Plan, token: str, opened: contextlib.ExitStack) -> ASGIApp:
    if plan.reading:
        return forward.build(plan.reading, plan.writing, Own(lambda: (0, 0, 0), lambda: 0), token)
    store = opened.enter_context(Store(plan.data / FOLDER, retention=plan.retention))
    readers = Readers(store, plan.limits)
    opened.callback(readers.close)
    own = Own(lambda: (*store.bytes_on_disk(), len(store.damages)), lambda: readers.forks)
    writer = Writer(store, own, now_ms, plan.retention.age_ms)
    opened.callback(writer.close)
    upkeep = Upkeep(store)
    opened.callback(upkeep.close)
    days = f"{plan.retention.age_ms / 86_400_000:g}d"
    return app.build(app.Parts(readers, writer.write, own, token, plan.limits, plan.flags, days))


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
            # Taken over by every connection; asyncio does not set it on these, and an answer would wait 40 ms.
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return bound
    raise CannotStart(f"ports {port} to {port + TRIES - 1} are taken; choose another: vigie server --listen")


def _announce(listening: socket.socket, token_file: Path) -> None:
    host, port = listening.getsockname()[:2]
    where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    log.info("%s answers Prometheus's API; point Grafana's Prometheus data source at it", where)
    log.info("beyond loopback and for remote write: Authorization: Bearer with the token in %s", token_file)
    notify(f"READY=1\nSTATUS={where}")
