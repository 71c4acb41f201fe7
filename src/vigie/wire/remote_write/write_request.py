"""Prometheus remote write 1.0: WriteRequest in protobuf, compressed with snappy.

    WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3; }
    TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; exemplars = 3; histograms = 4; }
    Label        { string name = 1; string value = 2; }
    Sample       { double value = 1; int64 timestamp = 2; }

Values are copied bit for bit, so stale markers and NaN survive.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import cramjam

from vigie.wire.remote_write.labels import MAX_LABELS, InvalidLabelsError, LabelCache, encode_labels
from vigie.wire.remote_write.metadata import MetricMetadata, decode_metadata
from vigie.wire.remote_write.protobuf import (
    BYTES,
    FIXED64,
    VARINT,
    MalformedProtobufError,
    decode_varint,
    encode_varint,
    iter_fields,
    to_signed,
)

# The sample that Prometheus and others send: tag, 16 bytes long, value, timestamp of 6 bytes.
COMMON_SAMPLE = struct.Struct("<HBdB")
COMMON_SAMPLE_BYTES = COMMON_SAMPLE.size + 6
DOUBLE = struct.Struct("<d")
SAMPLE_HEADS = [
    b"\x12" + bytes([10 + digits]) + b"\x09" for digits in range(11)
]  # by the length of the timestamp

MAX_SERIES = 100_000  # of a request, those without samples included
MAX_FIELDS = 1_500_000  # of its samples and of labels that are not known yet; a sample has three

Series = tuple[Mapping[str, str], Sequence[int], Sequence[float]]  # labels, times in ms, values


class DecodedWriteRequest(NamedTuple):
    """A decoded request: series, counts of ignored parts, metadata, and rejected samples."""

    series: list[Series]
    exemplars: int
    histograms: int
    metadata: list[MetricMetadata]
    refused: dict[str, int]  # samples by reason: their labels cannot name a series


def encode(series: Iterable[Series]) -> bytes:
    """Encode a WriteRequest. Labels are sorted by name."""
    return b"".join(encode_series(encode_labels(labels), times, values) for labels, times, values in series)


def encode_series(section: bytes, times: Sequence[int], values: Sequence[float]) -> bytes:
    """Encode one TimeSeries, given its encoded labels."""
    if len(times) == 1:
        samples = _encode_sample(times[0], values[0])
    else:
        samples = b"".join([_encode_sample(time, value) for time, value in zip(times, values, strict=True)])
    return b"\x0a" + encode_varint(len(section) + len(samples)) + section + samples


def _encode_sample(time: int, value: float) -> bytes:
    when = encode_varint(time)
    return SAMPLE_HEADS[len(when)] + DOUBLE.pack(value) + b"\x10" + when


def compress(body: bytes) -> bytes:
    """Compress a body into one snappy block."""
    return bytes(cramjam.snappy.compress_raw(body))


def decompressed_length(body: bytes) -> int:
    """Return how long a compressed body says that it is."""
    return decode_varint(body, 0, len(body))[0]


def decompress(body: bytes, max_bytes: int) -> bytes:
    """Decompress a body, unless the result would exceed `max_bytes` bytes."""
    length = decompressed_length(body)
    if length > max_bytes:
        raise MalformedProtobufError(f"{length} bytes decompressed, the limit is {max_bytes}")
    try:
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise MalformedProtobufError(f"invalid snappy block: {error}") from None


def decode(body: bytes, cache: LabelCache) -> DecodedWriteRequest:
    """Decode a decompressed WriteRequest, or raise MalformedProtobufError.

    Equal labels give the same object while they are cached.
    """
    reader = _Reader(body, cache)
    series, at, end = reader.series, 0, len(body)
    known, times = cache.newer, reader.times
    while at < end:
        # Fast path: a series with cached labels and one common sample. The labels were validated when they
        # were cached, so the bytes after them can only be the sample.
        if len(series) >= MAX_SERIES:
            raise MalformedProtobufError(f"more than {MAX_SERIES} series in a request")
        if body[at] == 0x0A and at + COMMON_SAMPLE_BYTES < end:
            start = at + 2
            length = body[at + 1]
            if length > 127:
                length += (body[start] << 7) - 128
                start += 1
            stop = start + length
            if stop <= end and COMMON_SAMPLE_BYTES <= length < 16_384:
                labels = known.get(body[start : stop - COMMON_SAMPLE_BYTES])
                time = times.get(body[stop - 6 : stop])
                tag, first, value, second = COMMON_SAMPLE.unpack_from(body, stop - COMMON_SAMPLE_BYTES)
                if labels and time and tag == 0x1012 and first == 0x09 and second == 0x10:
                    series.append((labels, time, (value,)))
                    at = stop
                    continue
        at = reader.read_field(at)
    return DecodedWriteRequest(series, reader.exemplars, reader.histograms, reader.metadata, reader.refused)


class _Reader:
    """Decodes a request field by field, in any order."""

    def __init__(self, body: bytes, cache: LabelCache) -> None:
        self.series: list[Series] = []
        self.exemplars = self.histograms = 0
        self.metadata: list[MetricMetadata] = []
        self.refused: dict[str, int] = {}
        self.times: dict[bytes, tuple[int]] = {}  # by their bytes: most samples of a request share one
        self._body, self._cache = body, cache
        self._top_fields = self._fields = 0

    def read_field(self, at: int) -> int:
        """Decode one field, and return the offset after it."""
        number, wire, start, stop = next(iter_fields(self._body, at, len(self._body)))
        self._top_fields += 1
        if self._top_fields > MAX_SERIES:
            raise MalformedProtobufError(f"more than {MAX_SERIES} series in a request")
        if number == 1:
            _expect(wire == BYTES, at)
            self._read_series(start, stop)
        elif number == 3:
            _expect(wire == BYTES, at)
            self.metadata.append(decode_metadata(self._body, start, stop))
        return stop

    def _read_series(self, at: int, end: int) -> None:
        section, times, values = b"", [], []
        labels_read = 0
        for number, wire, start, stop in iter_fields(self._body, at, end):
            if number <= 4:
                _expect(wire == BYTES, at)
            self._count_field()
            if number == 1:
                labels_read += 1
                if labels_read <= MAX_LABELS + 1:  # one more, which decode_labels refuses
                    section += self._body[at:stop]
            elif number == 2:
                time, value = self._read_sample(start, stop)
                times.append(time)
                values.append(value)
            self.exemplars += number == 3
            self.histograms += number == 4
            at = stop
        try:
            labels = self._cache.labels(section)
        except InvalidLabelsError as error:
            self.refused[str(error)] = self.refused.get(str(error), 0) + len(times)
            return
        if times:
            self.series.append((labels, times, values))

    def _count_field(self) -> None:
        self._fields += 1
        if self._fields > MAX_FIELDS:
            raise MalformedProtobufError("too many samples and labels in a request: send fewer at a time")

    def _read_sample(self, at: int, end: int) -> tuple[int, float]:
        time, value = 0, 0.0
        for number, wire, start, stop in iter_fields(self._body, at, end):
            self._count_field()
            if number == 1:
                _expect(wire == FIXED64, at)
                value = DOUBLE.unpack_from(self._body, start)[0]
            elif number == 2:
                _expect(wire == VARINT, at)
                time = to_signed(decode_varint(self._body, start, stop)[0])
                if stop - start == 6:
                    self.times[self._body[start:stop]] = (time,)
        return time, value


def _expect(right: bool, at: int) -> None:
    if not right:
        raise MalformedProtobufError(f"byte {at}: unexpected wire type for remote write 1.0")
