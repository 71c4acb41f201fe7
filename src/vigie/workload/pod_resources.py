"""Which pod has which device, as the kubelet tells at its PodResources socket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.sources.core.host import Host
from vigie.sources.core.tree import to_printable
from vigie.workload.grpc_call import GrpcError, call, fields

KUBELET = "/var/lib/kubelet/pod-resources/kubelet.sock"
LIST = "/v1.PodResourcesLister/List"
DEADLINE = 2.0
MAX_DEVICES = 1024


class PodDevice(NamedTuple):
    """A device that a container of a pod was given."""

    device: str  # for GPUs a UUID
    resource: str  # such as nvidia.com/gpu
    pod: str  # namespace/name
    container: str


def read_pod_devices(host: Host, path: str) -> list[PodDevice]:
    """Return all devices of all pods; none without a kubelet, and a note where it does not answer."""
    if not path or not host.root.exists(path):
        return []
    try:
        message = call(f"{host.root.top.rstrip('/')}/{path}", LIST, DEADLINE)
        return [device for device, _ in zip(parse_pod_devices(message), range(MAX_DEVICES))]
    except GrpcError as error:
        host.note(f"/{path}", error)
        return []


def parse_pod_devices(message: bytes) -> Iterator[PodDevice]:
    """Yield the devices in a ListPodResourcesResponse, or raise GrpcError."""
    for pod in _parts(message, 1):
        name = f"{_text(pod, 2)}/{_text(pod, 1)}"
        for container in _parts(pod, 3):
            for devices in _parts(container, 2):
                for device in _parts(devices, 2):
                    # One that several pods share in turn has a number behind its UUID.
                    identity = _decode(device).partition("::")[0]
                    yield PodDevice(identity, _text(devices, 1), name, _text(container, 1))


def _parts(message: bytes, number: int) -> Iterator[bytes]:
    for found, value in fields(message):
        if found == number and isinstance(value, bytes):
            yield value


def _text(message: bytes, number: int) -> str:
    return next((_decode(value) for value in _parts(message, number)), "")


def _decode(value: bytes) -> str:
    return to_printable(value[:253].decode("utf-8", "surrogateescape"))
