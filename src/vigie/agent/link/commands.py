"""What a server may ask of this node: a closed list, of which the node's configuration may refuse each."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping

from websockets.exceptions import ConnectionClosed

from vigie.agent.link.hello import uptime_ms
from vigie.wire.commands import PING, Order
from vigie.wire.messages import Command, CommandResult

log = logging.getLogger(__name__)

AT_ONCE = 4  # commands that are being done


class CommandRunner:
    """Does what servers ask for, as far as this node wants."""

    def __init__(self, orders: Mapping[str, Order] | None = None, refused: Collection[str] = ()) -> None:
        self._orders, self._refused = orders or {}, refused
        self._doing: set[asyncio.Future[None]] = set()

    def take(self, command: Command, answer: Callable[[CommandResult], Awaitable[None]]) -> None:
        """Have a command done and answered beside everything else."""
        task = asyncio.ensure_future(self._done(command, answer))
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    async def _done(self, command: Command, answer: Callable[[CommandResult], Awaitable[None]]) -> None:
        reply = await self._reply(command)
        with contextlib.suppress(ConnectionClosed):  # the server's last word comes behind it
            await answer(reply)

    async def _reply(self, command: Command) -> CommandResult:
        if command.name == PING:
            return CommandResult(command.number, uptime_ms=uptime_ms())
        order = self._orders.get(command.name)
        if command.name in self._refused:
            why = f"this node refuses {command.name} (link.refuse in its configuration)"
        elif order is None:
            why = f"this agent does not know {command.name!r}"
        elif len(self._doing) > AT_ONCE:
            why = f"this agent does {AT_ONCE} things at a time: ask again"
        else:
            try:
                done, said = await order(command.arguments)
            except Exception as error:  # whatever it is, somebody waits for an answer
                log.exception("while doing %s for the server", command.name)
                done, said = False, f"it failed: {error}"
            return (
                CommandResult(command.number, said=said)
                if done
                else CommandResult(command.number, refused=said)
            )
        return CommandResult(command.number, refused=why)
