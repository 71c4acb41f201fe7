"""Delivers one request: whole, or, when the peer refuses it, in halves until only what it refuses is left.

A request whose answer was lost may have arrived. Sent again, it is refused as out of order when it holds
several times of one series, although nothing is missing. Then a few of the older samples are sent alone: a
peer that has the request refuses them all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import vigie
from vigie.common.http_client import HttpClient, UnreachableError
from vigie.wire.remote_write.labels import LabelCache
from vigie.wire.remote_write.protobuf import MalformedProtobufError
from vigie.wire.remote_write.write_request import Series, compress, decode, decompress, encode

HEADERS = {
    "Content-Type": "application/x-protobuf",
    "Content-Encoding": "snappy",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": f"vigie/{vigie.__version__}",
}
MAX_BODY = 64 << 20
MAX_PATIENCE = 3600.0
# These speak of us or of the moment and not of the samples: a token can be renewed, a path corrected.
NOT_THE_SAMPLES = (401, 403, 404, 405, 407, 408, 425, 429)
REASONS = ("out of order", "out of bounds", "duplicate", "too old", "too far in the future", "limit")
OUT_OF_BOUNDS = "out of bounds"
THERE_ALREADY = ("out of order", "duplicate")
PROBES = 8


class RetryLaterError(Exception):
    """Not delivered now; what happened, and for how many seconds the peer wants to be left alone."""

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class QueuedRequest(NamedTuple):
    """A request or a part of one."""

    samples: int
    body: bytes


class Delivery:
    """Sends requests, and remembers the rest of one that was interrupted."""

    def __init__(self, client: HttpClient, path: str, clock: Callable[[], float]) -> None:
        self.sent = 0
        self.dropped: Counter[str] = Counter()
        self.refusal = ""  # what the peer last said against samples
        self._client, self._path, self._clock = client, path, clock
        self._of: object = None
        self._pieces: list[QueuedRequest] = []
        self._doubtful = False  # whether the piece to be sent may have arrived

    def send(self, request: object, samples: int, body: bytes) -> None:
        """Deliver a request, or raise Later; the same request then goes on where it stopped."""
        if request != self._of:
            self._of, self._pieces = request, [QueuedRequest(samples, body)]
        while self._pieces:
            piece = self._pieces[-1]
            refusal = self._refused(piece.body)
            reason = _reason(refusal)
            arrived = not refusal
            if self._doubtful and reason in THERE_ALREADY:
                arrived = self._has_arrived(piece.body)
            self._pieces.pop()
            self._doubtful = False
            if arrived:
                self.sent += piece.samples
                continue
            if reason != _reason(self.refusal):  # it may name another series each time
                self.refusal = refusal
            halves = _halves(piece.body, reason)
            if not halves:
                self.dropped[reason] += piece.samples
            self._pieces += reversed(halves)
        self._of = None

    def _has_arrived(self, body: bytes) -> bool:
        """Tell whether the peer has a request already that it refuses now."""
        probes = _probes(body)
        return bool(probes) and all(_reason(self._refused(probe)) in THERE_ALREADY for probe in probes)

    def _refused(self, body: bytes) -> str:
        """Return what the peer has against a request, or nothing when it took it."""
        doubtful, self._doubtful = self._doubtful, True  # until there is an answer
        try:
            reply = self._client.request("POST", self._path, body, HEADERS)
        except UnreachableError as error:
            raise RetryLaterError(str(error)) from None
        if reply.status < 500:
            self._doubtful = doubtful
        if 200 <= reply.status < 300:
            return ""
        said = f"{reply.status} {_printable(reply.body)}".strip()
        if 400 <= reply.status < 500 and reply.status not in NOT_THE_SAMPLES:
            return said
        raise RetryLaterError(said, self._patience(reply.headers.get("retry-after", "")))

    def _patience(self, text: str) -> float:
        """Return the seconds that a Retry-After asks for, given as such or as a date."""
        try:
            seconds = (
                float(text) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - self._clock()
            )
        except (ValueError, OverflowError):
            return 0.0
        return min(max(seconds, 0.0), MAX_PATIENCE)


def _probes(body: bytes) -> list[bytes]:
    """Return requests with the oldest sample of some series each, of those that have several."""
    known: dict[int, list[tuple[int, float]]] = {}
    names = {}
    for labels, times, values in decode(decompress(body, MAX_BODY), LabelCache()).series:
        names[id(labels)] = labels  # the same labels are the same object
        known.setdefault(id(labels), []).extend(zip(times, values, strict=True))
    oldest: list[Series] = []
    for name, samples in known.items():
        time, value = min(samples, key=lambda sample: sample[0])
        if any(other != time for other, _ in samples):
            oldest.append((names[name], (time,), (value,)))
    return [compress(encode([series])) for series in oldest[:: max(1, len(oldest) // PROBES)][:PROBES]]


def _halves(body: bytes, reason: str) -> list[QueuedRequest]:
    """Return the two halves of a refused request, the older samples first; none when it cannot be halved."""
    try:
        series = decode(decompress(body, MAX_BODY), LabelCache()).series
    except MalformedProtobufError:
        return []
    samples: list[Series] = [
        (labels, (time,), (value,))
        for labels, times, values in series
        for time, value in zip(times, values, strict=True)
    ]
    times = sorted({times[0] for _, times, _ in samples})
    if len(times) > 1:
        middle = times[len(times) // 2]
        halves = [
            [sample for sample in samples if sample[1][0] < middle],
            [sample for sample in samples if sample[1][0] >= middle],
        ]
    elif len(samples) > 1 and reason != OUT_OF_BOUNDS:
        half = len(samples) // 2
        halves = [samples[:half], samples[half:]]
    else:
        return []  # a single sample; or all of one time, which is out of bounds for all of them
    return [QueuedRequest(len(half), compress(encode(half))) for half in halves]


def _reason(refusal: str) -> str:
    return next((reason for reason in REASONS if reason in refusal.lower()), f"status {refusal[:3]}")


def _printable(body: bytes) -> str:
    return re.sub(
        r"\s+", " ", "".join(c if c.isprintable() else " " for c in body[:300].decode("utf-8", "replace"))
    )
