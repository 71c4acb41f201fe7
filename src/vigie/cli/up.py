"""Watch this machine: a server and an agent that is linked to it, one command and no configuration."""

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
from vigie.common import listen
from vigie.common.listen import local_url
from vigie.common.token_file import load_or_create_token
from vigie.server.http.tls import fingerprint
from vigie.server.run import Companion, ServerConfig

EXAMPLE = """examples:
  vigie up                                        http://127.0.0.1:8000, with data within seconds
  vigie up --listen 0.0.0.0:8000                  for other machines and people too
  vigie up --data /srv/vigie
  vigie up --publish /srv/monitoring              and files for a Prometheus and a Grafana"""
ERRORS = server_command.ERRORS

log = logging.getLogger(__name__)

AGENT_PORT, TRIES = 9797, 20
STOP_SECONDS, AGAIN_SECONDS = 8.0, 5.0
PR_SET_PDEATHSIG = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    server_command.add_arguments(parser)
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="DIR",
        help="keep files for a Prometheus and a Grafana there, as vigie publish does",
    )
    parser.add_argument(
        "--anonymous-viewer",
        action="store_true",
        help="let everybody look at that Grafana without an account",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run until it is stopped."""
    plan = server_command.prepared(arguments)
    flags = ["--config", str(arguments.config)] if arguments.config else []
    if plan.flags.get("tls-cert"):
        flags += ["--fingerprint", fingerprint(Path(plan.flags["tls-cert"]))]
    flags += ["--log-format", plan.flags["log-format"]]  # they share a log
    beside: list[Companion] = [LocalAgent(plan.data, flags)]
    if arguments.publish:
        beside.append(_publishing(arguments, plan))
    server_command.serve(plan, ServerAndAgent(beside))
    return 0


def _publishing(arguments: argparse.Namespace, plan: ServerConfig) -> Companion:
    from vigie.publishing.background import BackgroundPublisher  # only when used

    return BackgroundPublisher(
        arguments.publish.resolve(), plan.data, plan.flags.get("tls-cert", ""), arguments.anonymous_viewer
    )


class ServerAndAgent:
    """Several things that run beside the server; the last that began ends first."""

    def __init__(self, parts: Sequence[Companion]) -> None:
        self._parts = parts

    def start(self, address: str) -> None:
        for part in self._parts:
            part.start(address)

    async def stop(self) -> None:
        for part in reversed(self._parts):
            await part.stop()


class LocalAgent:
    """The agent beside the server, as a process of its own; one that dies is started again."""

    def __init__(self, data: Path, flags: list[str]) -> None:
        self._data, self._flags = data, flags
        self._process: asyncio.subprocess.Process | None = None
        self._keeping: asyncio.Task[None] | None = None

    def start(self, address: str) -> None:
        """Start the agent of a server that listens there."""
        print(address, flush=True)
        flags = [*self._flags, "--server", local_url(address), "--listen", f"127.0.0.1:{_free_port()}"]
        self._keeping = asyncio.ensure_future(self._keep([*flags, "--data", str(self._data)]))

    async def stop(self) -> None:
        """Have the agent say goodbye while the server still listens."""
        if self._keeping:
            self._keeping.cancel()
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _keep(self, flags: list[str]) -> None:
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
                return  # somebody stopped it
            log.error("the agent ended with code %d; it is started again in %g s", code, AGAIN_SECONDS)
            await asyncio.sleep(AGAIN_SECONDS)


def _free_port() -> int:
    """Return the agent's usual port, or the next that is free."""
    for port in range(AGENT_PORT, AGENT_PORT + TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                log.warning("port %d is taken by %s", port, listen.port_holder(port))
            else:
                return port
    return 0
