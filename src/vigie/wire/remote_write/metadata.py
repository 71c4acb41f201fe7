"""Metric metadata in remote write 1.0.

MetricMetadata { MetricType type = 1; string metric_family_name = 2; string help = 4; string unit = 5; }
"""

from __future__ import annotations

from typing import NamedTuple

from vigie.wire.remote_write.protobuf import BYTES, VARINT, decode_varint, iter_fields

KINDS = ("unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset")
TEXT_FIELDS = {2: "name", 4: "help", 5: "unit"}


class MetricMetadata(NamedTuple):
    """Name, kind, help and unit of a metric. Missing fields are empty."""

    name: str = ""
    kind: str = KINDS[0]
    help: str = ""
    unit: str = ""


def decode_metadata(body: bytes, at: int, end: int) -> MetricMetadata:
    """Decode the bytes between two offsets, or raise MalformedProtobufError. Unknown fields are ignored."""
    found: dict[str, str] = {}
    for number, wire, start, stop in iter_fields(body, at, end):
        if number == 1 and wire == VARINT:
            kind = decode_varint(body, start, stop)[0]
            found["kind"] = KINDS[kind] if kind < len(KINDS) else KINDS[0]
        elif number in TEXT_FIELDS and wire == BYTES:
            found[TEXT_FIELDS[number]] = body[start:stop].decode(errors="replace")
    return MetricMetadata(**found)
