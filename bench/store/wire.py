"""Remote write requests made fast: the labels are written once, times and values patched in by numpy."""

from __future__ import annotations

import http.client

import numpy as np
from numpy.typing import NDArray

from bench.store.fleet import Matrix, Node, Times
from vigie.wire.remote_write.labels import encode_labels
from vigie.wire.remote_write.protobuf import encode_varint
from vigie.wire.remote_write.write_request import compress

SAMPLE = 18  # field and length, field, 8 bytes of value, field, 6 bytes of time
VALUE_AT, TIME_AT = 3, 12


class Template:
    """The requests of one node with so many samples a series."""

    def __init__(self, node: Node, samples: int) -> None:
        self._samples = samples
        body, places = bytearray(), []
        blank = (b"\x12\x10\x09" + bytes(8) + b"\x10" + bytes(6)) * samples
        for metric, values in node.series:
            labels = dict(zip(metric.labels, values, strict=True)) | node.labels | {"__name__": metric.name}
            section = encode_labels(labels)
            body += b"\x0a" + encode_varint(len(section) + len(blank)) + section
            places.append(len(body))
            body += blank
        self._body = np.frombuffer(body, dtype=np.uint8).copy()
        starts = np.array(places)[:, np.newaxis] + np.arange(samples) * SAMPLE
        self._values = starts[:, :, np.newaxis] + VALUE_AT + np.arange(8)
        self._times = starts[:, :, np.newaxis] + TIME_AT + np.arange(6)

    def filled(self, times: Times, values: Matrix) -> bytes:
        """Return a compressed request with these samples: a row of values for each time."""
        columns = np.ascontiguousarray(values.T).view(np.uint8)
        self._body[self._values] = columns.reshape(len(columns), self._samples, 8)
        self._body[self._times] = _varints(times)
        return compress(self._body.tobytes())


def _varints(times: Times) -> NDArray[np.uint8]:
    """Return milliseconds of this century, each as a varint of six bytes."""
    groups = (times[:, np.newaxis] >> (7 * np.arange(6))) & 0x7F
    groups[:, :5] |= 0x80
    return groups.astype(np.uint8)


class Writer:
    """A kept connection to a remote write receiver."""

    def __init__(self, port: int, path: str, token: str = "") -> None:
        self._client = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        self._path = path
        self._access = {"Authorization": f"Bearer {token}"} if token else {}

    def send(self, body: bytes) -> None:
        """Send one request, and see that it was taken."""
        headers = {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "snappy",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
        }
        self._client.request("POST", self._path, body, headers | self._access)
        response = self._client.getresponse()
        text = response.read()
        if response.status // 100 != 2:
            raise RuntimeError(f"{self._path} answered {response.status}: {text[:300]!r}")
