"""Names of containers over a runtime's socket: what is asked, and what a bad answer costs."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workload.processes import machine
from vigie.sources.core.host import Host
from vigie.workload import runtimes
from vigie.workload.runtimes import RuntimeNotAnsweringError, Runtimes, ask, parse_list

A, B = "a1" * 32, "b2" * 32
LISTED = [
    {"Id": A, "Names": ["/web"], "Image": "torch:2", "Labels": {"team": "ml", "n": 3}},
    {"Id": B, "Names": [], "Image": None, "Labels": None, "SizeRootFs": 9},
    {"Id": 7},
    "garbage",
]


class Daemon(socketserver.ThreadingUnixStreamServer):
    """Answers every question with the same bytes, and counts the questions."""

    daemon_threads = True
    reply = b""
    hangs = False

    def __init__(self, path: Path) -> None:
        self.asked: list[bytes] = []
        self.done = threading.Event()
        super().__init__(str(path), _Handler)


class _Handler(socketserver.StreamRequestHandler):
    server: Daemon

    def handle(self) -> None:
        self.server.asked.append(self.rfile.readline())
        self.wfile.write(self.server.reply)
        if self.server.hangs:
            self.server.done.wait(30)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    place = tmp_path / "root/run/docker.sock"
    place.parent.mkdir(parents=True)
    server = Daemon(place)
    server.reply = answer(LISTED)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.done.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return machine(tmp_path)


def answer(body: Any) -> bytes:
    return b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(body).encode()


def test_names_images_and_labels_come_from_one_question(daemon: Daemon, host: Host) -> None:
    found = Runtimes(host).find({A, B})
    assert (found[A].label, found[A].image, found[A].labels) == ("web", "torch:2", {"team": "ml"})
    assert (found[B].label, found[B].image, found[B].size_bytes) == (B[:12], "", 0)
    assert daemon.asked == [b"GET /containers/json HTTP/1.0\r\n"]


def test_known_containers_are_not_asked_for_again_nor_unknown_ones_at_once(
    daemon: Daemon, host: Host
) -> None:
    known = Runtimes(host)
    for _ in range(5):
        known.find({A, "c3" * 32})
    assert len(daemon.asked) == 1
    known.find({A, "d4" * 32})
    assert len(daemon.asked) == 2


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (b"HTTP/1.0 500 Internal Server Error\r\n\r\n{}", "500"),
        (b"HTTP/1.0 200 OK\r\n\r\nnot JSON", "not JSON"),
        (b"HTTP/1.0 200 OK\r\n\r\n" + b"[" * 100_000, "not JSON"),
        (b"", "answered ''"),
        (b"\xff\xfe\x00", "answered"),
    ],
)
def test_bad_answer_is_noted_and_containers_keep_their_ids(
    daemon: Daemon, host: Host, reply: bytes, why: str
) -> None:
    daemon.reply = reply
    assert Runtimes(host).find({A}) == {}
    assert why in host.notes["/run/docker.sock"]


def test_answer_that_never_ends_is_given_up(daemon: Daemon, host: Host) -> None:
    daemon.hangs = True
    with pytest.raises(RuntimeNotAnsweringError, match="time"):
        ask(host, "run/docker.sock", "/containers/json", deadline=0.2)


def test_answer_beyond_the_bound_is_refused(daemon: Daemon, host: Host) -> None:
    daemon.reply = b"HTTP/1.0 200 OK\r\n\r\n" + bytes(runtimes.MAX_ANSWER + 1)
    with pytest.raises(RuntimeNotAnsweringError, match="longer"):
        ask(host, "run/docker.sock", "/containers/json")


def test_socket_without_a_daemon_is_noted(host: Host, tmp_path: Path) -> None:
    (tmp_path / "root/run").mkdir(parents=True)
    (tmp_path / "root/run/docker.sock").touch()
    assert Runtimes(host).find({A}) == {}
    assert "/run/docker.sock" in host.notes


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["Id", "Names", "Image", "Labels", "SizeRw"]), inner, max_size=4), max_leaves=20)  # fmt: skip # noqa: E501


@given(JSON)
def test_any_json_is_survived(told: Any) -> None:
    for one in parse_list("docker", told):
        assert isinstance(one.label, str)
