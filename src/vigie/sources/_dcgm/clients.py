"""Clients of an engine: the host engine of this machine, or an embedded one in a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from vigie.sources._dcgm.engine import Engine, Reading, connect
from vigie.sources._dcgm.library import DcgmError, DcgmLibrary

MAX_LINE_BYTES = 1 << 20  # bytes of a response line


class DcgmClient(Protocol):
    def latest(self, uuids: Sequence[str]) -> dict[str, dict[int, Reading]]:
        """Return the latest value of each field of these GPUs, or the reason for its absence."""

    def pause(self) -> None:
        """Stop the counters for all clients."""

    def resume(self) -> None:
        """Resume the counters."""

    def close(self) -> None:
        """Remove all watches."""


class RunningEngine:
    """A client of the host engine on this machine."""

    def __init__(
        self, library: str, addresses: Sequence[str], interval: float, fields: Sequence[int]
    ) -> None:
        self._library = DcgmLibrary(library)
        self._handle = connect(self._library, addresses)
        try:
            self._engine = Engine(self._library, self._handle, interval, fields)
        except DcgmError:
            self._leave()
            raise
        self.latest, self.pause, self.resume = self._engine.latest, self._engine.pause, self._engine.resume

    def close(self) -> None:
        """Remove our watches and disconnect."""
        try:
            self._engine.forget()
        except DcgmError:
            pass  # an engine that stopped has no watches
        self._leave()

    def _leave(self) -> None:
        for name, arguments in (("dcgmDisconnect", (self._handle,)), ("dcgmShutdown", ())):
            try:
                self._library.call(name, *arguments)
            except DcgmError:  # noqa: PERF203 - there is nothing left to leave
                pass


class ChildClient:
    """An embedded engine in a child process, so that its failures do not affect the agent."""

    def __init__(self, library: str, interval: float, fields: Sequence[int]) -> None:
        command = [sys.executable, "-m", "vigie.sources._dcgm.child", library, str(interval)]
        command.append(",".join(map(str, fields)))
        self._process = subprocess.Popen(  # noqa: S603 - ourselves
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        try:
            self._request("hello")
        except DcgmError:
            self.close()
            raise

    def latest(self, uuids: Sequence[str]) -> dict[str, dict[int, Reading]]:
        said = self._request("latest", *uuids)
        return {
            str(uuid): {int(field): value for field, value in values.items()} for uuid, values in said.items()
        }

    def pause(self) -> None:
        self._request("pause")

    def resume(self) -> None:
        self._request("resume")

    def close(self) -> None:
        """End the child and its engine."""
        self._process.terminate()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:  # it hangs in the driver
            self._process.kill()
        for pipe in (self._process.stdout, self._process.stdin):
            try:
                if pipe:
                    pipe.close()
            except OSError:  # noqa: PERF203 - what was still to be said has no listener any more
                pass

    def _request(self, *words: str) -> dict[str, Any]:
        asks, says = self._process.stdin, self._process.stdout
        assert asks
        assert says
        try:
            asks.write(json.dumps(words).encode() + b"\n")
            asks.flush()
            line = says.readline(MAX_LINE_BYTES)
            said = json.loads(line)
        except (OSError, ValueError):
            raise DcgmError("child process with the embedded engine", -21) from None
        if "error" in said:
            raise DcgmError(str(said["function"]), int(said["error"]))
        answer: dict[str, Any] = said
        return answer
