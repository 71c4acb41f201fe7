"""The sockets for trainers answer at once, once, and only whom they can."""

import os
import socket
import struct
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from vigie.trace.kineto.ipc import KinetoIpc, KinetoIpcError
from vigie.trace.kineto.trainers import Assignment, TrainerRegistry

POLL = struct.pack("<Q32siiqi", 20, b"req", 2, 1, 4711, 7)
BUSY_POLL = struct.pack("<Q32siiqi", 20, b"req", 0, 1, 4711, 7)
EMPTY_REPLY = struct.pack("<Q32s", 0, b"req")


class Trainer:
    """What libkineto does, as far as the wire shows it."""

    def __init__(self, address: str, server: str) -> None:
        self._server = server
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        if address:
            self.socket.bind(address)

    def __del__(self) -> None:
        self.socket.close()

    def send(self, datagram: bytes) -> None:
        self.socket.sendto(datagram, self._server)

    def receive(self) -> tuple[bytes, object] | None:
        try:
            return self.socket.recvfrom(65536)
        except BlockingIOError:
            return None


class Node:
    """A registry and its socket in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)
        self.fetched: list[str] = []
        self.registry = TrainerRegistry(lambda: 1000.0)
        self.ipc = KinetoIpc(
            self.registry,
            self.directory,
            on_fetch=lambda _, assignment: self.fetched.append(assignment.key),
        )
        self.ipc.open()

    def trainer(self, name: str = "") -> Trainer:
        own = f"{self.directory}/{name or 'dynoconfigclient' + str(uuid.uuid4())}"
        return Trainer(own, f"{self.directory}/dynolog")

    def exchange(self, trainer: Trainer, datagram: bytes) -> tuple[bytes, object] | None:
        trainer.send(datagram)
        self.ipc.handle_datagrams()
        return trainer.receive()


@pytest.fixture
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory = Path("/tmp") / f"kineto{uuid.uuid4().hex[:8]}"
    directory.mkdir()
    node = Node(directory)
    yield node
    node.ipc.close()
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()


def test_poll_is_answered_at_once_from_the_bound_socket(node: Node) -> None:
    assert node.exchange(node.trainer(), POLL) == (EMPTY_REPLY, f"{node.directory}/dynolog")


def test_abstract_socket_has_a_nul_at_both_ends() -> None:
    name = f"dynolog-{uuid.uuid4()}"
    ipc = KinetoIpc(TrainerRegistry(lambda: 0.0), name=name)
    ipc.open()
    try:
        trainer = Trainer(f"\0dynoconfigclient{uuid.uuid4()}\0", f"\0{name}\0")
        trainer.send(POLL)
        ipc.handle_datagrams()
        assert trainer.receive() == (EMPTY_REPLY, f"\0{name}\0".encode())
    finally:
        ipc.close()


def test_trainer_is_known_by_the_kernel_s_word_not_its_own(node: Node) -> None:
    node.exchange(node.trainer(), POLL)
    [trainer] = node.registry
    assert (trainer.pid, trainer.uid, trainer.pids, trainer.job_id) == (os.getpid(), os.getuid(), (7,), 4711)


def test_config_is_fetched_once_and_cleared_after_it_was_sent(node: Node) -> None:
    client = node.trainer()
    node.exchange(client, POLL)
    [trainer] = node.registry
    node.registry.assign(trainer, Assignment("s1", "A=1\n", 10))
    assert node.exchange(client, BUSY_POLL) == (EMPTY_REPLY, f"{node.directory}/dynolog")
    reply = node.exchange(client, POLL)
    assert reply is not None
    assert reply[0] == struct.pack("<Q32s", 4, b"req") + b"A=1\n"
    assert node.fetched == ["s1"]
    assert node.exchange(client, POLL) == (EMPTY_REPLY, f"{node.directory}/dynolog")


def test_config_stays_pending_when_the_reply_cannot_be_sent(node: Node) -> None:
    client = node.trainer()
    node.exchange(client, POLL)
    [trainer] = node.registry
    node.registry.assign(trainer, Assignment("s1", "A=1\n", 10))
    client.send(POLL)
    client.socket.close()
    node.ipc.handle_datagrams()
    assert trainer.pending is not None
    assert node.fetched == []


def test_sender_that_is_not_bound_gets_no_reply_and_does_no_harm(node: Node) -> None:
    Trainer("", f"{node.directory}/dynolog").send(POLL)
    node.ipc.handle_datagrams()
    assert node.ipc.ignored == 1
    assert list(node.registry) == []


def test_trainer_that_sees_the_directory_elsewhere_is_never_answered(node: Node, tmp_path: Path) -> None:
    """Its libkineto would end the process: our address does not begin with its directory."""
    elsewhere = Path("/tmp") / f"other{uuid.uuid4().hex[:8]}"
    elsewhere.mkdir()
    try:
        client = Trainer(f"{elsewhere}/dynoconfigclient1", f"{node.directory}/dynolog")
        assert node.exchange(client, POLL) is None
        assert node.ipc.misplaced == str(elsewhere)
    finally:
        (elsewhere / "dynoconfigclient1").unlink()
        elsewhere.rmdir()


def test_older_trainer_s_context_is_answered(node: Node) -> None:
    context = struct.pack("<Q32siiq", 16, b"ctxt", 0, 99, 4711)
    reply = node.exchange(node.trainer(), context)
    assert reply is not None
    assert reply[0] == struct.pack("<Q32si", 4, b"ctxt", 1)


def test_garbage_is_ignored_and_the_next_poll_answered(node: Node) -> None:
    client = node.trainer()
    for size in range(200):
        client.send(os.urandom(size))
        node.ipc.handle_datagrams()
    assert node.exchange(client, POLL) is not None
    assert node.ipc.ignored == 200


def test_sockets_of_dead_trainers_are_removed_and_living_ones_kept(node: Node) -> None:
    dead, living = node.trainer("dynoconfigclient-dead"), node.trainer("dynoconfigclient-living")
    dead.socket.close()
    (Path(node.directory) / "dynoconfigclient-file").touch()
    assert node.ipc.remove_stale_clients() == 1
    assert living.socket.fileno() >= 0
    assert {p.name for p in Path(node.directory).iterdir()} == {
        "dynolog",
        "dynoconfigclient-living",
        "dynoconfigclient-file",
    }


def test_socket_of_a_running_daemon_is_not_taken(node: Node) -> None:
    with pytest.raises(KinetoIpcError, match="another daemon"):
        KinetoIpc(node.registry, node.directory).open()


def test_socket_that_a_dead_daemon_left_is_replaced(node: Node) -> None:
    left = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    node.ipc.close()
    left.bind(f"{node.directory}/dynolog")
    left.close()
    node.ipc.open()
    assert node.exchange(node.trainer(), POLL) is not None


def test_directory_too_long_for_a_trainer_is_refused() -> None:
    with pytest.raises(KinetoIpcError, match="at most 54"):
        KinetoIpc(TrainerRegistry(lambda: 0.0), "/tmp/" + "x" * 60).open()
