"""Pulls trace files from the nodes, piece by piece; an interrupted file goes on where it stopped."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Protocol

import msgspec

from vigie.server.tracing.library import TraceLibrary
from vigie.wire.api.trace_session import RankTrace, TraceSession
from vigie.wire.commands import TRACE_READ
from vigie.wire.messages import CommandResult
from vigie.wire.tracing import PieceHeader, PieceOrder, TraceTarget

MAX_PIECES_AT_ONCE = 4  # over all nodes: live frames share the links and this server's loop
MAX_SESSION_BYTES = 20 * 1024**3  # compressed
RETRY_SECONDS = 2.0
MAX_RETRIES = 60

_decode_header = msgspec.json.Decoder(PieceHeader).decode


class CollectionError(Exception):
    """The file cannot be had; the message says why."""


class PieceSource(Protocol):
    async def order(self, node: str, name: str, arguments: dict[str, Any]) -> CommandResult | None:
        """Return a node's result, or None if there is none."""


class TraceCollector:
    def __init__(self, links: PieceSource, library: TraceLibrary) -> None:
        self._links, self._library = links, library
        self._room = asyncio.Semaphore(MAX_PIECES_AT_ONCE)

    async def collect(self, session: TraceSession, rank: RankTrace) -> Path:
        """Return the whole file, once it is here."""
        path = self._library.trace_path(session.id, rank.label)
        partial = path.with_name(f".{path.name}.partial")
        await asyncio.to_thread(partial.unlink, missing_ok=True)
        offset, failures = 0, 0
        while True:
            result = await self._read(session, rank, offset)
            if result is None:  # the node is away for a moment, or its agent starts again
                failures += 1
                if failures > MAX_RETRIES:
                    raise CollectionError("its node went away before the file was here")
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if result.refused:
                raise CollectionError(result.refused)
            failures, header = 0, _decode_header(result.text)
            if header.offset != offset or header.next_offset < offset:
                raise CollectionError("the node sent another part than was asked for")
            await asyncio.to_thread(_append, partial, result.data)
            offset = rank.collected_bytes = header.next_offset
            if offset >= header.size:
                await asyncio.to_thread(_complete, partial, path)
                return path
            if sum(r.collected_bytes for r in session.ranks) > MAX_SESSION_BYTES:
                raise CollectionError(f"the session is larger than {MAX_SESSION_BYTES >> 30} GiB")

    async def _read(self, session: TraceSession, rank: RankTrace, offset: int) -> CommandResult | None:
        target = TraceTarget(rank.pid, rank.inner_pid, rank.uid, rank.path)
        order: dict[str, Any] = msgspec.to_builtins(PieceOrder(session.id, target, offset))
        async with self._room:
            return await self._links.order(rank.node, TRACE_READ, order)


def _append(path: Path, piece: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
    with os.fdopen(fd, "ab") as file:
        file.write(piece)


def _complete(partial: Path, path: Path) -> None:
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(path)
