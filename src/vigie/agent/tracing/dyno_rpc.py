"""Answers dynolog's calls for this node's trainers, where that is asked for."""

from __future__ import annotations

import asyncio
import logging

from vigie import __version__
from vigie.common.listen import is_loopback, split_address
from vigie.trace.dyno.functions import DynoFunctions, ProfilingPause
from vigie.trace.dyno.server import LOOPBACK_ADDRESSES, DynoServer
from vigie.trace.kineto.trainers import TrainerRegistry

log = logging.getLogger(__name__)


class DynoRpc:
    def __init__(self, registry: TrainerRegistry, profiling: ProfilingPause, address: str) -> None:
        functions = DynoFunctions(registry, version=__version__, profiling=profiling)
        host, port = split_address(address)
        # dyno tries only the first address of localhost, so both answer.
        addresses = LOOPBACK_ADDRESSES if is_loopback(address) else (host,)
        self._server = DynoServer(functions.call, addresses, port)
        self._address = address
        self._starting: asyncio.Future[None] | None = None

    def start(self) -> None:
        if not is_loopback(self._address):
            log.warning("dyno_rpc %s: anybody who reaches it can trace every process here", self._address)
        self._starting = asyncio.ensure_future(self._start())

    def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        asyncio.ensure_future(self._server.close())  # noqa: RUF006 - the loop is about to end

    async def _start(self) -> None:
        try:
            await self._server.start()
        except OSError as error:
            log.error("cannot listen on %s for dyno: %s", self._address, error.strerror or error)
        else:
            log.info("dynolog's calls are answered on %s", self._address)
