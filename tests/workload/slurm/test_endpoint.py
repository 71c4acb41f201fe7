"""Slurm's own metrics endpoint, as 26.05 answered, byte for byte."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.workload.slurm.fake import RECORDINGS, FakeSlurm, SettableClock
from vigie.workload.slurm.endpoint import scrape_controller
from vigie.workload.slurm_controller import SOURCE

NODES = (RECORDINGS / "26.05/metrics-nodes.txt").read_text().replace("\n", "\r\n", 5)
EMPTY = "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Type: text/plain\r\n\r\n"  # MetricsType is not set
DENIED = (
    "HTTP/1.1 401 UNAUTHORIZED\r\nConnection: Close\r\nContent-Length: 97\r\nContent-Type: text/plain\r\n\r\n"
    "slurmctld HTTP server request for 'GET /metrics/jobs':\nFailed: Invalid authentication credential\n"
    "Connection: Close\r\n"
)


@contextlib.contextmanager
def controller(reply: str) -> Iterator[int]:
    """Answer every connection with these bytes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                with peer:
                    peer.recv(65536)
                    peer.sendall(reply.encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_series_are_read_as_far_as_announced() -> None:
    with controller(NODES) as port:
        found = scrape_controller("127.0.0.1", port)
    values = {(metric.name, *labels): value for metric, labels, value in found.samples}
    assert found.error == ""
    assert values["slurm_node_gpus", "n1"] == 8
    assert values["slurm_node_cpus_alloc", "n1"] == 13
    assert not [name for name, *_ in values if name == "slurm_nodes_idle"]  # we count those ourselves


@pytest.mark.parametrize(("reply", "error"), [(EMPTY, ""), (DENIED, "401"), ("garbage\r\n\r\n", "slurmctld")])
def test_what_is_off_denied_or_garbage_gives_no_series(reply: str, error: str) -> None:
    with controller(reply) as port:
        found = scrape_controller("127.0.0.1", port)
    assert found.samples == ()
    assert error in found.error


def test_source_passes_on_what_the_controller_serves(tmp_path_factory: pytest.TempPathFactory) -> None:
    slurm = FakeSlurm(tmp_path_factory.mktemp("slurm"), "26.05")
    with controller(NODES) as port:
        slurm.reply(
            "config", f"MetricsType             = metrics/openmetrics\nSlurmctldPort           = {port}\n"
        )
        names = {metric.name for metric, _, _ in SOURCE.read(slurm.host(SettableClock()))}
    assert {"slurm_node_gpus_alloc", "slurm_queue_running"} <= names
