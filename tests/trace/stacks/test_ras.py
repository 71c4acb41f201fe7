"""NCCL's RAS is asked as its own client asks, and two answers tell a hang from a running job."""

import asyncio
import json
from typing import Any

import pytest

from vigie.trace.stacks.ras import RasError, RasReport, decode_report, describe_ras, query_ras


def report(counts: dict[int, int], missing: int | None = None) -> dict[str, Any]:
    ranks = [
        {"rank": r, "host": "10.0.0.1", "pid": 100 + r, "nvml_dev": r, "collective_counts": {"AllReduce": n}}
        for r, n in counts.items()
    ]
    lost = [{"rank": missing, "host": "10.0.0.2", "pid": 9, "status": {"considered_dead": True}}]
    communicator = {
        "hash": "0xabc",
        "size": 4,
        "ranks": ranks,
        "missing_ranks": lost if missing is not None else [],
    }
    return {"nccl_version": "2.30.7", "communicators_count": 1, "communicators": [communicator], "ras": {}}


class FakeRas:
    """A process of a job, as far as the dialogue goes."""

    def __init__(self, answer: bytes, *, speaks_json: bool = True, hangs: bool = False) -> None:
        self._answer, self._speaks_json, self._hangs = answer, speaks_json, hangs
        self.commands: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            if line.startswith("CLIENT PROTOCOL"):
                writer.write(b"SERVER PROTOCOL 2\n")
            elif line.startswith("SET FORMAT") and not self._speaks_json:
                writer.write(b"ERROR: Unknown command\n")
            elif line.endswith("STATUS"):
                writer.write(self._answer)
                break
            else:
                writer.write(b"OK\n")
        await writer.drain()
        writer.close()

    def query(self) -> RasReport:
        async def run() -> RasReport:
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
            async with server:
                return await query_ras(port=server.sockets[0].getsockname()[1])

        return asyncio.run(run())


def test_dialogue_is_that_of_nccl_s_client() -> None:
    ras = FakeRas(json.dumps(report({0: 5, 1: 5})).encode())
    answer = ras.query()
    assert ras.commands == ["CLIENT PROTOCOL 2", "TIMEOUT 10", "SET FORMAT json", "VERBOSE STATUS"]
    assert answer.communicators[0].total_counts == {0: 5, 1: 5}
    assert answer.communicators[0].ranks[1].nvml_dev == 1


def test_older_nccl_without_json_is_said() -> None:
    with pytest.raises(RasError, match=r"2\.28\.7"):
        FakeRas(b"", speaks_json=False).query()


@pytest.mark.parametrize("answer", [b"", b"{", b"[]", b'{"communicators": 7}'])
def test_garbled_answer_is_an_error(answer: bytes) -> None:
    with pytest.raises(RasError):
        FakeRas(answer).query()


def test_port_without_a_job_is_said() -> None:
    async def run() -> None:
        server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        await query_ras(port=port)

    with pytest.raises(RasError, match="not reachable"):
        asyncio.run(run())


def decode(counts: dict[int, int], missing: int | None = None) -> RasReport:
    return decode_report(json.dumps(report(counts, missing)).encode())


def test_rank_that_stays_behind_is_named() -> None:
    stuck = decode({0: 45, 1: 45, 2: 44, 3: 45})
    assert describe_ras(stuck, stuck) == "Rank 2 is behind: 44 collectives called, the others 45."


def test_counts_that_move_are_a_running_job() -> None:
    assert "are calling collectives" in describe_ras(decode({0: 1, 1: 1}), decode({0: 2, 1: 1}))


def test_equal_counts_that_do_not_move_point_at_the_hardware() -> None:
    assert "network or hardware" in describe_ras(decode({0: 5, 1: 5}), decode({0: 5, 1: 5}))


def test_missing_rank_is_named_with_its_place() -> None:
    assert (
        describe_ras(RasReport(), decode({0: 5}, missing=3))
        == "NCCL misses 1 of 4 ranks: 3 (pid 9 on 10.0.0.2)."
    )
