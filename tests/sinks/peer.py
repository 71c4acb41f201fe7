"""A receiver of remote write that refuses late samples as Prometheus 2.42 does, and misbehaves on demand."""

from __future__ import annotations

import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vigie.model.nan import float_to_bits
from vigie.wire.remote_write.labels import LabelCache
from vigie.wire.remote_write.write_request import decode, decompress

Key = frozenset[tuple[str, str]]


class Peer:
    """Takes samples, in order only; each entry of `moods` is how one request is answered instead."""

    def __init__(self) -> None:
        self.moods: deque[str] = deque()
        self.taken: list[tuple[Key, int, int]] = []  # labels, time, the value's bits
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.refuse: Callable[[Key, int], str] = lambda _labels, _time: ""
        self.release = threading.Event()  # ends a request that hangs
        self._newest: dict[Key, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Peer:
        peer = self

        class Handler(_Handler):
            owner = peer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api/v1/write"
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Return when it holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, (
                f"{len(self.taken)} samples and {len(self.paths)} requests came"
            )
            time.sleep(0.005)

    def values(self, **labels: str) -> list[tuple[int, int]]:
        """Return times and bits of what came of the series that have these labels, in the order it came."""
        return [(when, bits) for key, when, bits in self.taken if labels.items() <= dict(key).items()]

    def take(self, body: bytes) -> str:
        """Take a whole request or nothing, and return the complaint."""
        series = decode(decompress(body, 1 << 26), LabelCache()).series
        found = [
            (frozenset(labels.items()), when, float_to_bits(value))
            for labels, times, values in series
            for when, value in zip(times, values, strict=True)
        ]
        with self._lock:
            newest = dict(self._newest)
            for labels, when, bits in found:
                if complaint := self.refuse(labels, when):
                    return complaint
                last = newest.get(labels, (-1, 0))
                if when <= last[0] and (when, bits) != last:  # the very same once more is no fault
                    return "out of order sample"
                newest[labels] = (when, bits)
            self.taken += [each for each in found if self._newest.get(each[0]) != each[1:]]
            self._newest = newest
        return ""


class _Handler(BaseHTTPRequestHandler):
    owner: Peer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        peer = self.owner
        body = self.rfile.read(int(self.headers["Content-Length"]))
        peer.headers.append(dict(self.headers.items()))
        mood = peer.moods.popleft() if peer.moods else ""
        peer.paths.append(self.path)
        if mood == "take and cut":
            peer.take(body)
        if mood in ("cut", "take and cut"):
            self.connection.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER: a reset, not an end
            self.close_connection = True
        elif mood == "half":
            self.connection.sendall(b"HTTP/1.1 20")
            self.close_connection = True
        elif mood == "hang":
            peer.release.wait(60)
            self.close_connection = True
        elif mood == "garbage":
            self.connection.sendall(b"\x00\xffSSH-2.0\r\n\r\n")
            self.close_connection = True
        elif mood:
            status, _, patience = mood.partition(":")
            self._answer(int(status), b"not now\x1b[31m", {"Retry-After": patience} if patience else {})
        elif complaint := peer.take(body):
            self._answer(400, complaint.encode())
        else:
            self._answer(204, b"")

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
