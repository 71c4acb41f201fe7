"""Monitor this machine (server and agent), without any configuration."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from vigie.cli import server as server_command
from vigie.cli.settings import flags
from vigie.common import listen
from vigie.common.listen import local_url
from vigie.common.token_file import load_or_create_token
from vigie.server.http.tls import fingerprint
from vigie.server.run import Companion
from vigie.server.services import ServerConfig

EXAMPLE = """examples:
  vigie up                                        http://127.0.0.1:8000, with data within seconds
  vigie up --listen 0.0.0.0:8000                  for other machines and people too
  vigie up --data /srv/vigie
  vigie up --publish /srv/monitoring              and files for a Prometheus and a Grafana"""
ERRORS = server_command.ERRORS

log = logging.getLogger(__name__)

AGENT_PORT, MAX_PORTS = 9797, 20
STOP_SECONDS, RESTART_SECONDS = 8.0, 5.0
PR_SET_PDEATHSIG = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    flags.add_flags(parser, "up")
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="DIR",
        help="write Prometheus and Grafana files there, as vigie publish does",
    )
    parser.add_argument(
        "--anonymous-viewer",
        action="store_true",
        help="allow anonymous viewers in that Grafana",
    )


def run(arguments: argparse.Namespace) -> int:
    settings = flags.resolve(arguments)
    plan = server_command.prepare(settings)
    given = ["--config", str(arguments.config)] if arguments.config else []
    if plan.flags.get("tls-cert"):
        given += ["--fingerprint", fingerprint(Path(plan.flags["tls-cert"]))]
    given += ["--log-format", plan.flags["log-format"]]  # they share a log
    takes_any_port = settings.values["agent.listen"].origin == "default"
    companions: list[Companion] = [LocalAgent(plan.data, given, takes_any_port=takes_any_port)]
    if arguments.publish:
        companions.append(_build_publisher(arguments, plan))
    server_command.serve(plan, ServerAndAgent(companions))
    return 0


def _build_publisher(arguments: argparse.Namespace, plan: ServerConfig) -> Companion:
    from vigie.publishing.background import BackgroundPublisher  # only when used

    return BackgroundPublisher(
        arguments.publish.resolve(), plan.data, plan.flags.get("tls-cert", ""), arguments.anonymous_viewer
    )


class ServerAndAgent:
    """What runs next to the server; the last that started stops first."""

    def __init__(self, parts: Sequence[Companion]) -> None:
        self._parts = parts

    def start(self, address: str) -> None:
        for part in self._parts:
            part.start(address)

    async def stop(self) -> None:
        for part in reversed(self._parts):
            await part.stop()


class LocalAgent:
    """The agent next to the server, as its own process; one that dies is restarted."""

    def __init__(self, data: Path, flags: list[str], *, takes_any_port: bool = True) -> None:
        self._data, self._flags, self._takes_any_port = data, flags, takes_any_port
        self._process: asyncio.subprocess.Process | None = None
        self._supervisor: asyncio.Task[None] | None = None

    def start(self, address: str) -> None:
        """Start the agent of a server that listens there."""
        print(address, flush=True)
        flags = [*self._flags, "--server", local_url(address), "--data", str(self._data)]
        if self._takes_any_port:
            flags += ["--listen", f"127.0.0.1:{_free_port()}"]
        self._supervisor = asyncio.ensure_future(self._supervise(flags))

    async def stop(self) -> None:
        """Stop the agent while the server still listens."""
        if self._supervisor:
            self._supervisor.cancel()
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _supervise(self, flags: list[str]) -> None:
        library = ctypes.CDLL(None)  # before the fork: nothing may be loaded between fork and exec
        while True:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "vigie",
                "agent",
                *flags,
                env={
                    **os.environ,
                    "VIGIE_TOKEN": load_or_create_token(self._data / "join-token"),
                    "NOTIFY_SOCKET": "",
                },
                # An agent whose server was killed would hold its name and its port.
                preexec_fn=lambda: library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM),
            )
            code = await self._process.wait()
            if code == 0:
                return  # it was stopped
            log.error("the agent exited with code %d, restarting in %g s", code, RESTART_SECONDS)
            await asyncio.sleep(RESTART_SECONDS)


def _free_port() -> int:
    """Return the agent's default port, or the next free one."""
    for port in range(AGENT_PORT, AGENT_PORT + MAX_PORTS):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                log.warning("port %d is in use by %s", port, listen.port_holder(port))
            else:
                return port
    return 0
