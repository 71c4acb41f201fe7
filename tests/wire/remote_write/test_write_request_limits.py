"""What a request may hold is limited, and what is beyond it costs little."""

from __future__ import annotations

import pytest

from vigie.wire.remote_write.labels import (
    MAX_CACHE_BYTES,
    MAX_LABELS,
    MAX_NAME_BYTES,
    MAX_VALUE_BYTES,
    LabelCache,
    encode_labels,
)
from vigie.wire.remote_write.protobuf import MalformedProtobufError, encode_varint
from vigie.wire.remote_write.write_request import MAX_FIELDS, MAX_SERIES, decode, encode, encode_series

GOOD = {"__name__": "good"}


def many(count: int) -> dict[str, str]:
    return {"__name__": "m", **{f"l{number}": "x" for number in range(count - 1)}}


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (many(MAX_LABELS + 1), f"more than {MAX_LABELS} labels"),
        (many(100_000), f"more than {MAX_LABELS} labels"),
        ({"__name__": "m", "n" * (MAX_NAME_BYTES + 1): "x"}, "label name longer than"),
        ({"__name__": "m", "n": "x" * (MAX_VALUE_BYTES + 1)}, "label value longer than"),
        ({"__name__": "m", "n": "x" * (20 << 20)}, "label value longer than"),
    ],
    ids=["one label too many", "very many labels", "long name", "long value", "20 MB"],
)
def test_series_beyond_a_limit_is_refused_and_the_rest_is_kept(labels: dict[str, str], reason: str) -> None:
    request = decode(encode([(labels, [1], [1.0]), (GOOD, [1], [2.0])]), LabelCache())
    assert [series[0] for series in request.series] == [GOOD]
    (why,) = request.refused
    assert why.startswith(reason)
    assert len(why) < 200


def test_what_just_fits_is_taken() -> None:
    labels = many(MAX_LABELS - 1) | {"n" * MAX_NAME_BYTES: "x" * MAX_VALUE_BYTES}
    assert not decode(encode([(labels, [1], [1.0])]), LabelCache()).refused


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a\x00" * (MAX_SERIES + 1),
        b"\x1a\x00" * (MAX_SERIES + 1),
        b"\x7a\x00" * (MAX_SERIES + 1),
        encode([(GOOD, [1_700_000_000_000], [1.0])]) * (MAX_SERIES + 1),
    ],
    ids=["empty series", "empty metadata", "unknown fields", "known series"],
)
def test_request_with_too_many_series_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedProtobufError, match=f"more than {MAX_SERIES} series"):
        decode(body, LabelCache())


@pytest.mark.parametrize("content", [b"\x12\x00", b"\x1a\x00", b"\x7a\x00"])
def test_series_with_too_many_parts_is_refused(content: bytes) -> None:
    inside = content * (MAX_FIELDS + 1)
    with pytest.raises(MalformedProtobufError, match="too many samples"):
        decode(b"\x0a" + encode_varint(len(inside)) + inside, LabelCache())


def test_cache_of_labels_is_bounded_in_bytes() -> None:
    cache, size = LabelCache(), 60 * MAX_VALUE_BYTES
    sections = range(3 * MAX_CACHE_BYTES // size)
    for number in sections:
        long = {f"l{place}": "x" * (MAX_VALUE_BYTES - 8) for place in range(60)}
        decode(encode_series(encode_labels({"__name__": f"m{number}", **long}), [1], [1.0]), cache)
        assert sum(map(len, cache.newer)) <= MAX_CACHE_BYTES // 2
