"""NCCL's own view of a job (RAS): which ranks answer, and how many collectives each has called.

Every process of a job with NCCL 2.24 or newer listens on a local port and answers for all of its ranks.
"""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

HOST, PORT = "127.0.0.1", 28028
TIMEOUT_SECONDS = 15.0
ANSWER_SECONDS = 10  # that RAS may take to ask all ranks
MAX_ANSWER_BYTES = 16 * 1024 * 1024


class RasError(Exception):
    """No answer; the message says why."""


class RasStatus(msgspec.Struct):
    """State of one rank; an error or abort of its communicator is not 0."""

    async_error: int | str = 0
    abort_flag: bool | int = False
    unresponsive: bool | int = False
    considered_dead: bool | int = False


class RasRank(msgspec.Struct):
    """A rank of a communicator: the number is the communicator's, the pid its own namespace's."""

    rank: int
    host: str = ""
    pid: int = 0
    nvml_dev: int | None = None
    status: RasStatus = msgspec.field(default_factory=RasStatus)
    collective_counts: dict[str, int] = {}


class RasCommunicator(msgspec.Struct):
    """A group of ranks that call collectives together."""

    hash: str | int
    size: int = 0
    ranks: list[RasRank] = []
    missing_ranks: list[RasRank] = []

    @property
    def total_counts(self) -> dict[int, int]:
        """Return how many collectives each rank has called."""
        return {rank.rank: sum(rank.collective_counts.values()) for rank in self.ranks}


class RasReport(msgspec.Struct):
    """All communicators that answered."""

    communicators: list[RasCommunicator] = []
    nccl_version: str = ""


_decode = msgspec.json.Decoder(RasReport).decode


async def query_ras(host: str = HOST, port: int = PORT) -> RasReport:
    """Return what RAS says, or raise RasError."""
    try:
        return await asyncio.wait_for(_query(host, port), TIMEOUT_SECONDS)
    except TimeoutError:
        raise RasError(f"NCCL RAS did not answer within {TIMEOUT_SECONDS:.0f} s") from None
    except OSError as error:
        raise RasError(f"NCCL RAS is not reachable on port {port}: {error.strerror or error}") from None


async def _query(host: str, port: int) -> RasReport:
    reader, writer = await asyncio.open_connection(host, port, limit=65536)
    try:
        await _command(reader, writer, "CLIENT PROTOCOL 2")
        await _command(reader, writer, f"TIMEOUT {ANSWER_SECONDS}")
        if not (await _command(reader, writer, "SET FORMAT json")).startswith("OK"):
            raise RasError("NCCL RAS answers in text only: NCCL 2.28.7 or newer gives counts")
        writer.write(b"VERBOSE STATUS\n")
        await writer.drain()
        return decode_report(await _read_answer(reader))
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _command(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, command: str) -> str:
    writer.write(f"{command}\n".encode())
    await writer.drain()
    try:
        return (await reader.readuntil(b"\n")).decode(errors="replace").strip()
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise RasError(f"NCCL RAS gave no answer to {command!r}") from None


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    answer = bytearray()
    while part := await reader.read(65536):
        answer += part
        if len(answer) > MAX_ANSWER_BYTES:
            raise RasError("NCCL RAS sent more than 16 MiB")
    return bytes(answer)


def decode_report(answer: bytes) -> RasReport:
    try:
        return _decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RasError("NCCL RAS sent no report") from None


def describe_ras(before: RasReport, after: RasReport) -> str:
    """Return who holds up whom, from two reports some seconds apart; counts differ while a job runs."""
    if not after.communicators:
        return "NCCL RAS knows no communicator."
    world = max(after.communicators, key=lambda communicator: communicator.size)
    if world.missing_ranks:
        names = ", ".join(f"{rank.rank} (pid {rank.pid} on {rank.host})" for rank in world.missing_ranks[:8])
        return f"NCCL misses {len(world.missing_ranks)} of {world.size} ranks: {names}."
    counts = world.total_counts
    earlier = next((c.total_counts for c in before.communicators if c.hash == world.hash), {})
    if counts != earlier:
        return f"The {world.size} ranks are calling collectives."
    behind = [rank for rank, count in counts.items() if count < max(counts.values())]
    if not behind:
        return f"All {world.size} ranks have called the same collectives and none moves: network or hardware."
    names = ", ".join(map(str, behind[:8]))
    least, most = min(counts.values()), max(counts.values())
    return f"Rank {names} is behind: {least} collectives called, the others {most}."
