"""Runs the server: socket, signals, and what is printed at its start."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import re
import resource
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from starlette.types import Receive, Scope, Send

from vigie.common.listen import bind_or_next, local_url, socket_url
from vigie.common.systemd import notify
from vigie.server.api.health import Readiness
from vigie.server.auth.secrets import ADMIN, Secrets
from vigie.server.http.request_log import AccessLog, Traffic
from vigie.server.http.server import HttpServer
from vigie.server.server_address import ServerAddress, write_address
from vigie.server.services import ServerConfig, build_services

if TYPE_CHECKING:
    pass

EVERYWHERE = re.compile(r"//(0\.0\.0\.0|\[::\]):")  # where one listens, and nobody is found
log = logging.getLogger(__name__)
THREADS = 64  # made when they are needed, for what waits: a ledger, a disk, an engine elsewhere


def greeting(secrets: Secrets, address: str) -> str:
    """Return what is said once: the password that was made just now, and a link that signs in."""
    where = EVERYWHERE.sub(f"//{socket.gethostname()}:", address)
    link = f"sign in once, within ten minutes: {where}/login?once={secrets.sessions.link(ADMIN)}"
    if secrets.first_password:
        return f"the password of {ADMIN}, shown now and never again: {secrets.first_password}\n{link}"
    return link


def greet(secrets: Secrets, address: str, terminal: TextIO | None = None) -> None:
    """Say it to a terminal; a log is read by others and kept for long."""
    terminal = terminal or sys.stderr
    if terminal.isatty():
        print(greeting(secrets, address), file=terminal, flush=True)


def advice(secrets: Secrets) -> str:
    """Return what the log says about getting in."""
    file = secrets.admin_file
    said = f"beyond loopback and for changes: Authorization: Bearer with the token in {file}"
    if not secrets.first_password:
        return said
    return f"{said}; to set the password of {ADMIN}: vigie users passwd {ADMIN} --data {file.parent}"


class Companion(Protocol):
    """What runs with the server, from its first answer on, and ends before it."""

    def start(self, address: str) -> None: ...

    async def stop(self) -> None: ...


async def run(plan: ServerConfig, beside: Companion | None = None) -> None:
    """Run until SIGINT or SIGTERM."""
    _allow_many_files()
    # As it comes there are a few more threads than processors: slow questions would keep a sign-in waiting.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(THREADS, "server"))
    with contextlib.ExitStack() as opened:
        secrets = opened.enter_context(contextlib.closing(Secrets(plan.data)))
        if plan.admin_password:
            secrets.take_password(plan.admin_password)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await services.app(scope, receive, send)

        traffic = Traffic(_access_log(plan.access_log), lambda: front.connections)
        front = HttpServer(traffic.watching(answer), plan.tls.context if plan.tls else None)
        services = build_services(plan, secrets, opened, traffic)
        bound = opened.enter_context(bind_or_next(plan.listen))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _stop, front, beside, services.readiness)
        following = asyncio.ensure_future(plan.tls.follow()) if plan.tls else None
        _leave_address(plan, bound)
        _announce(bound, secrets, bool(plan.tls))
        if beside:
            beside.start(socket_url(bound, bool(plan.tls)))
        await front.serve([bound])
        if following:
            following.cancel()
    log.info("stopped")


def _allow_many_files() -> None:
    """Let as many files be open as the system allows: each agent stays connected."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _stop(front: HttpServer, beside: Companion | None, readiness: Readiness) -> None:
    """Stop, whatever runs beside the server first."""
    readiness.stopping = True
    if beside and not front.stopping:
        front.stopping = asyncio.ensure_future(beside.stop())
        front.stopping.add_done_callback(lambda _: front.stop())
    else:
        front.stop()


def _access_log(which: str) -> AccessLog | None:
    return None if which == "off" else AccessLog(everything=which == "all")


def _leave_address(plan: ServerConfig, bound: socket.socket) -> None:
    """Tell commands on this machine where we are; without it they have to be told."""
    certificate = str(Path(plan.tls.file).absolute()) if plan.tls else ""
    where = socket_url(bound, bool(plan.tls))
    here = ServerAddress(local_url(where), where.partition("://")[2], certificate)
    try:
        write_address(plan.data, here)
    except OSError as error:
        log.warning("commands on this machine need --server %s: %s", here.url, error)


def _announce(bound: socket.socket, secrets: Secrets, encrypted: bool) -> None:
    host = bound.getsockname()[0]
    where = socket_url(bound, encrypted)
    log.info("the page is at %s, and Prometheus's API, for Grafana's Prometheus data source", where)
    log.info("%s", advice(secrets))
    if not encrypted and not ipaddress.ip_address(host).is_loopback:
        log.warning("passwords and tokens cross the network in the clear; see --tls-cert and --tls-key")
    greet(secrets, where)
    notify(f"READY=1\nSTATUS={where}")
