"""What a server may ask of a node's trainers, with real sockets and files."""

import asyncio
import gzip
import json
import os
import socket
import struct
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vigie.agent.tracing.service import NodeTracing
from vigie.wire.commands import (
    TRACE_CANCEL,
    TRACE_READ,
    TRACE_REMOVE,
    TRACE_START,
    TRACE_STATUS,
    TRACE_TRAINERS,
    CommandOutcome,
)

POLL = struct.pack("<Q32siiqi", 20, b"req", 2, 1, 4711, 7)


class Trainer:
    """A trainer of this process's pid that polls and writes when told."""

    def __init__(self, server: str) -> None:
        self._server = f"\0{server}\0"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0dynoconfigclient{uuid.uuid4()}\0")
        self._socket.settimeout(30)

    def __del__(self) -> None:
        self._socket.close()

    def poll(self) -> dict[str, str]:
        """Return the configuration that it fetches."""
        self._socket.sendto(POLL, self._server)
        text = self._socket.recv(65536)[40:].decode()
        return dict(line.split("=") for line in text.splitlines())


class Node:
    """A node's service on a socket of its own."""

    def __init__(self, directory: Path) -> None:
        self.name = f"dynolog-{uuid.uuid4()}"
        self.path = str(directory / "trace.json")
        self.written = directory / "trace_7.json"

    def run(self, act: Callable[[NodeTracing], Awaitable[Any]], **options: Any) -> Any:
        async def run() -> Any:
            service = NodeTracing(socket_name=self.name, **options)
            service.start()
            try:
                return await act(service)
            finally:
                service.close()

        return asyncio.run(run())

    def order(self, **more: Any) -> dict[str, Any]:
        target = {"pid": os.getpid(), "inner_pid": 7, "uid": os.getuid(), "path": self.path}
        return {"session": "s1", "targets": [target], **more}

    async def poll(self) -> dict[str, str]:
        return await asyncio.to_thread(Trainer(self.name).poll)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


async def call(service: NodeTracing, name: str, arguments: dict[str, Any]) -> CommandOutcome:
    return await service.handlers()[name](arguments)


async def state(service: NodeTracing, node: Node) -> tuple[str, str, int]:
    outcome = await call(service, TRACE_STATUS, node.order())
    [found] = msgspec.json.decode(outcome.data)["states"]
    return found["state"], found.get("reason", ""), found.get("size", 0)


def test_trace_goes_from_assigned_to_collected(node: Node) -> None:
    text = json.dumps({"traceEvents": [], "traceName": "x"}).encode() * 1000

    async def act(service: NodeTracing) -> bytes:
        await node.poll()
        started = await call(service, TRACE_START, node.order(duration_ms=300))
        assert msgspec.json.decode(started.data) == {"states": [{"pid": os.getpid(), "state": "assigned"}]}
        assert (await state(service, node))[0] == "assigned"
        config = await node.poll()
        assert config["ACTIVITIES_LOG_FILE"] == node.path
        assert config["REQUEST_TRACE_ID"] == f"s1-{os.getpid()}"
        assert (await state(service, node))[0] == "fetched"
        Path(f"{node.written}.tmp").touch()
        assert (await state(service, node))[0] == "writing"
        Path(f"{node.written}.tmp").unlink()
        node.written.write_bytes(text)
        assert await state(service, node) == ("written", "", len(text))
        read = {"session": "s1", "target": node.order()["targets"][0]}
        collected, offset = b"", 0
        while True:
            piece = await call(service, TRACE_READ, {**read, "offset": offset})
            collected += piece.data
            header = json.loads(piece.text)
            offset = header["next_offset"]
            if offset == header["size"]:
                break
        await call(service, TRACE_REMOVE, node.order())
        return collected

    assert gzip.decompress(node.run(act)) == text
    assert not node.written.exists()


def test_large_file_comes_in_pieces_that_can_be_resumed(node: Node) -> None:
    node.written.write_bytes(b"0123456789abcdefghijXYZ")

    async def act(service: NodeTracing) -> list[tuple[bytes, int]]:
        read = {"session": "s1", "target": node.order()["targets"][0]}
        pieces = [await call(service, TRACE_READ, {**read, "offset": offset}) for offset in (0, 10, 20, 10)]
        return [(gzip.decompress(p.data), json.loads(p.text)["next_offset"]) for p in pieces]

    assert node.run(act, piece_bytes=10) == [
        (b"0123456789", 10),
        (b"abcdefghij", 20),
        (b"XYZ", 23),
        (b"abcdefghij", 20),
    ]


def test_trainers_are_listed_with_their_rank(node: Node) -> None:
    async def act(service: NodeTracing) -> Any:
        await node.poll()
        return msgspec.json.decode((await call(service, TRACE_TRAINERS, {})).data)

    listed = node.run(act)
    [trainer] = listed["trainers"]
    assert (trainer["pid"], trainer["inner_pid"], trainer["job_id"]) == (os.getpid(), 7, 4711)
    assert listed["free_bytes"] > 0


def test_second_request_finds_the_trainer_busy_until_the_first_is_cancelled(node: Node) -> None:
    async def act(service: NodeTracing) -> list[str]:
        await node.poll()
        states = []
        for name in (TRACE_START, TRACE_START, TRACE_CANCEL, TRACE_START):
            outcome = await call(service, name, node.order())
            states.append(
                msgspec.json.decode(outcome.data)["states"][0]["state"] if outcome.data else outcome.text
            )
        return states

    assert node.run(act) == ["assigned", "busy", "1 requests taken back", "assigned"]


def test_process_that_does_not_poll_is_gone(node: Node) -> None:
    async def act(service: NodeTracing) -> Any:
        return msgspec.json.decode((await call(service, TRACE_START, node.order())).data)

    assert node.run(act)["states"][0]["state"] == "gone"


def test_file_that_is_not_the_trainer_s_is_refused(node: Node, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    node.written.symlink_to(secret)

    async def act(service: NodeTracing) -> tuple[Any, CommandOutcome]:
        read = {"session": "s1", "target": node.order()["targets"][0], "offset": 0}
        removed = await call(service, TRACE_REMOVE, node.order())
        assert "link" in removed.text
        return await state(service, node), await call(service, TRACE_READ, read)

    found, outcome = node.run(act)
    assert found[0] == "failed"
    assert not outcome.is_done
    assert secret.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"session": "../x", "targets": []},
        {"session": "s1", "targets": [{"pid": 0, "inner_pid": 1, "uid": 0, "path": "/x"}]},
        {"session": "s1", "targets": [], "duration_ms": 10**9},
        {"session": "s1", "targets": "all"},
    ],
)
def test_order_that_makes_no_sense_is_refused(node: Node, arguments: dict[str, Any]) -> None:
    outcome = node.run(lambda service: call(service, TRACE_START, arguments))
    assert not outcome.is_done
    assert outcome.text.startswith("invalid request")


def test_path_that_a_trainer_would_misread_is_refused(node: Node) -> None:
    node.path = "/tmp/a=b.json"

    async def act(service: NodeTracing) -> CommandOutcome:
        await node.poll()
        return await call(service, TRACE_START, node.order())

    assert "'='" in node.run(act).text


def test_socket_that_another_daemon_has_is_said(node: Node) -> None:
    async def act(service: NodeTracing) -> Any:
        second = NodeTracing(socket_name=node.name)
        second.start()
        listed = await call(second, TRACE_TRAINERS, {})
        second.close()
        return msgspec.json.decode(listed.data)["problem"]

    assert "another daemon" in node.run(act)
