"""The kubelet's devices, from a real gRPC server and from one that misbehaves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workload.processes import ScriptedGpus, machine
from vigie.workload.gpu_holders import SOURCE
from vigie.workload.grpc_call import GrpcError, call
from vigie.workload.pod_resources import LIST, PodDevice, parse_pod_devices


def field(number: int, value: bytes) -> bytes:
    """Return a field of a protobuf message."""
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + _varint(value >> 7)


def pods(count: int) -> bytes:
    """Return a ListPodResourcesResponse; each pod has a GPU, and shares another in turn with others."""
    found = b""
    for number in range(count):
        devices = field(1, b"nvidia.com/gpu") + field(2, b"GPU-%d" % number) + field(2, b"MIG-0-3::7")
        container = field(1, b"main") + field(2, devices)
        found += field(1, field(1, b"train-%d" % number) + field(2, b"ml") + field(3, container))
    return found


class Kubelet(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers the one call that we make."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def service(self, details: Any) -> Any:
        """Return the handler of a call, or nothing."""
        return grpc.unary_unary_rpc_method_handler(lambda *_: self.answer) if details.method == LIST else None


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[tuple[Kubelet, Path]]:
    path = tmp_path / "root/kubelet.sock"
    path.parent.mkdir(parents=True)
    handler = Kubelet(pods(2))
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(f"unix:{path}")
    server.start()
    yield handler, path
    server.stop(None).wait()


def test_pods_of_the_kubelet_hold_their_gpus(kubelet: tuple[Kubelet, Path], tmp_path: Path) -> None:
    host = machine(tmp_path, kubelet="/kubelet.sock")
    host.nvml = cast("Any", ScriptedGpus([], []))
    list(SOURCE.read(host))
    held = {(one.resource, one.holder_kind, one.holder): dict(one.facts) for one in host.bindings}
    assert held == {
        ("gpu:0", "pod", "ml/train-0"): {"container": "main", "instance": "3"},
        ("gpu:0", "pod", "ml/train-1"): {"container": "main", "instance": "3"},
        ("gpu:1", "pod", "ml/train-1"): {"container": "main"},
    }


def test_answer_larger_than_one_window_comes_whole(kubelet: tuple[Kubelet, Path]) -> None:
    handler, path = kubelet
    handler.answer = pods(5000)
    found = list(parse_pod_devices(call(str(path), LIST, 20)))
    assert len(found) == 10_000
    assert found[-2] == PodDevice("GPU-4999", "nvidia.com/gpu", "ml/train-4999", "main")


def test_call_that_a_server_does_not_know_is_an_error(kubelet: tuple[Kubelet, Path]) -> None:
    with pytest.raises(GrpcError):
        call(str(kubelet[1]), "/v1.Nothing/List", 20)


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(64), b"\xff" * 64])
def test_server_that_speaks_something_else_is_an_error(tmp_path: Path, reply: bytes) -> None:
    path = tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            client, _ = listening.accept()
            with client:
                client.recv(65536)
                client.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(GrpcError):
            call(str(path), LIST, 2)
        thread.join()


def test_silent_server_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "silent.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with pytest.raises(GrpcError, match="time"):
            call(str(path), LIST, 0.2)


def test_kubelet_that_does_not_answer_is_noted(tmp_path: Path) -> None:
    host = machine(tmp_path, "-- root/kubelet.sock --\n", kubelet="/kubelet.sock")
    host.nvml = cast("Any", ScriptedGpus([]))
    list(SOURCE.read(host))
    assert "/kubelet.sock" in host.notes


@given(st.binary(max_size=200))
def test_any_bytes_are_devices_or_an_error(message: bytes) -> None:
    try:
        list(parse_pod_devices(message))
    except GrpcError:
        pass
