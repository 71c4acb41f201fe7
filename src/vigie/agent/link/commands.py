"""Commands that a server may run on this node: a closed list. The configuration can refuse each."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from websockets.exceptions import ConnectionClosed

from vigie.agent.link.hello import uptime_ms
from vigie.wire.commands import PING, CommandHandler, CommandOutcome
from vigie.wire.messages import Command, CommandResult

log = logging.getLogger(__name__)

MAX_RUNNING = 4  # concurrent commands


class CommandRunner:
    """Runs the server's commands, unless the configuration refuses them."""

    def __init__(
        self, handlers: Mapping[str, CommandHandler] | None = None, refused: Collection[str] = ()
    ) -> None:
        self._handlers, self._refused = handlers or {}, refused
        self._running: set[asyncio.Future[None]] = set()

    def start(self, command: Command, answer: Callable[[CommandResult], Awaitable[None]]) -> None:
        """Run a command in the background and send its result."""
        task = asyncio.ensure_future(self._run(command, answer))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, command: Command, answer: Callable[[CommandResult], Awaitable[None]]) -> None:
        result = await self._execute(command)
        with contextlib.suppress(ConnectionClosed):  # the server's goodbye follows
            await answer(result)

    async def _execute(self, command: Command) -> CommandResult:
        if command.name == PING:
            return CommandResult(command.number, uptime_ms=uptime_ms())
        handler = self._handlers.get(command.name)
        if command.name in self._refused:
            why = f"{command.name} is refused by this node (link.refuse)"
        elif handler is None:
            why = f"unknown command {command.name!r}"
        elif len(self._running) > MAX_RUNNING:
            why = f"already running {MAX_RUNNING} commands: try again"
        else:
            try:
                outcome = await handler(command.arguments)
            except Exception as error:  # the server waits for a result
                log.exception("while running %s for the server", command.name)
                outcome = CommandOutcome(False, f"failed: {error}")
            if not outcome.is_done:
                return CommandResult(command.number, refused=outcome.text)
            return CommandResult(command.number, text=outcome.text, data=outcome.data)
        return CommandResult(command.number, refused=why)
