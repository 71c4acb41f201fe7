"""What a server may ask of this node: a closed list, of which the node's configuration may refuse each."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from websockets.exceptions import ConnectionClosed

from vigie.agent.link.hello import uptime_ms
from vigie.wire.commands import PING, CommandHandler
from vigie.wire.messages import Command, CommandResult

log = logging.getLogger(__name__)

MAX_RUNNING = 4  # commands that are being done


class CommandRunner:
    """Does what servers ask for, as far as this node wants."""

    def __init__(
        self, handlers: Mapping[str, CommandHandler] | None = None, refused: Collection[str] = ()
    ) -> None:
        self._handlers, self._refused = handlers or {}, refused
        self._running: set[asyncio.Future[None]] = set()

    def start(self, command: Command, answer: Callable[[CommandResult], Awaitable[None]]) -> None:
        """Have a command done and answered beside everything else."""
        task = asyncio.ensure_future(self._run(command, answer))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, command: Command, answer: Callable[[CommandResult], Awaitable[None]]) -> None:
        result = await self._execute(command)
        with contextlib.suppress(ConnectionClosed):  # the server's last word comes behind it
            await answer(result)

    async def _execute(self, command: Command) -> CommandResult:
        if command.name == PING:
            return CommandResult(command.number, uptime_ms=uptime_ms())
        handler = self._handlers.get(command.name)
        if command.name in self._refused:
            why = f"this node refuses {command.name} (link.refuse in its configuration)"
        elif handler is None:
            why = f"this agent does not know {command.name!r}"
        elif len(self._running) > MAX_RUNNING:
            why = f"this agent does {MAX_RUNNING} things at a time: ask again"
        else:
            try:
                done, text = await handler(command.arguments)
            except Exception as error:  # whatever it is, somebody waits for an answer
                log.exception("while doing %s for the server", command.name)
                done, text = False, f"it failed: {error}"
            return (
                CommandResult(command.number, text=text)
                if done
                else CommandResult(command.number, refused=text)
            )
        return CommandResult(command.number, refused=why)
