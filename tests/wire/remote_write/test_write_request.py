from __future__ import annotations

import contextlib
import struct
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vigie.model.nan import NAN_BITS, STALE_BITS, float_from_bits
from vigie.wire.remote_write.labels import LabelCache, encode_labels
from vigie.wire.remote_write.metadata import MetricMetadata
from vigie.wire.remote_write.protobuf import MalformedProtobufError, encode_varint
from vigie.wire.remote_write.write_request import Series, compress, decode, decompress, encode, encode_series

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)
LABELS = st.dictionaries(TEXT, TEXT, max_size=6).map(lambda labels: {"__name__": "m", **labels})
VALUES = st.integers(0, 2**64 - 1).map(float_from_bits)
TIMES = st.integers(-(2**63), 2**63 - 1) | st.integers(1_600_000_000_000, 1_900_000_000_000)
SERIES = st.tuples(LABELS, st.lists(st.tuples(TIMES, VALUES), min_size=1, max_size=4)).map(
    lambda pair: (pair[0], [time for time, _ in pair[1]], [value for _, value in pair[1]])
)
GOOD = encode([({"__name__": "up", "job": "node"}, [1_700_000_000_000], [1.0])])


def bits(series: Sequence[Series]) -> list[tuple[Mapping[str, str], list[int], bytes]]:
    return [
        (labels, list(times), struct.pack(f"<{len(values)}d", *values)) for labels, times, values in series
    ]


@given(st.lists(SERIES, max_size=5))
def test_what_is_encoded_is_decoded_bit_for_bit(series: list[Series]) -> None:
    cache = LabelCache()
    body = encode(series)
    assert decompress(compress(body), len(body)) == body
    for _ in range(2):  # the second time by the short way
        request = decode(body, cache)
        assert bits(request.series) == bits(series)
        assert request[1:] == (0, 0, [], {})


def test_nan_and_stale_marker_stay_distinct() -> None:
    values = [float_from_bits(NAN_BITS), float_from_bits(STALE_BITS), float("inf"), -0.0]
    series: list[Series] = [({"__name__": "m"}, [1, 2, 3, 4], values)]
    assert bits(decode(encode(series), LabelCache()).series) == bits(series)


def test_same_labels_are_the_same_object_while_remembered() -> None:
    cache = LabelCache(4)
    first = decode(GOOD, cache).series[0][0]
    assert decode(GOOD, cache).series[0][0] is first
    for n in range(3):
        decode(encode([({"__name__": f"m{n}"}, [1], [1.0])]), cache)
    assert decode(GOOD, cache).series[0][0] is first
    for n in range(9):
        decode(encode([({"__name__": f"m{n}"}, [1], [1.0])]), cache)
    assert decode(GOOD, cache).series[0][0] is not first
    assert len(cache.newer) <= 2


@given(st.binary(max_size=80))
@example(b"\x0a\x00")
@example(b"\x0a\x80")
@example(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
@example(b"\x03\x00")
def test_garbage_is_refused_and_nothing_else_happens(body: bytes) -> None:
    cache = LabelCache()
    for read in (lambda: decode(body, cache), lambda: decompress(body, 1000)):
        with contextlib.suppress(MalformedProtobufError):
            read()


@given(st.data())
def test_spoiled_request_is_refused_or_read_and_does_not_harm_the_next(data: st.DataObject) -> None:
    cache = LabelCache()
    decode(GOOD, cache)
    spoiled = bytearray(GOOD * 2)
    spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedProtobufError):
        decode(bytes(spoiled[: data.draw(st.integers(0, len(spoiled)))]), cache)
    assert bits(decode(GOOD, cache).series) == bits(
        [({"__name__": "up", "job": "node"}, [10**11 * 17], [1.0])]
    )


def test_every_cut_of_a_request_is_refused() -> None:
    for length in range(1, len(GOOD)):
        with pytest.raises(MalformedProtobufError):
            decode(GOOD[:length], LabelCache())


def test_what_would_be_too_big_is_refused_before_it_is_decompressed() -> None:
    with pytest.raises(MalformedProtobufError, match="1099511627776 bytes"):
        decompress(encode_varint(2**40) + b"\x00", 10**6)


def test_exemplars_and_histograms_are_counted_and_left_out() -> None:
    section = encode_labels({"__name__": "m"})
    content = section + b"\x1a\x00\x22\x00\x22\x00"
    body = b"\x0a" + encode_varint(len(content)) + content + GOOD
    request = decode(body, LabelCache())
    assert (request.exemplars, request.histograms) == (1, 2)
    assert len(request.series) == 1


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        (b"\x08\x02\x12\x01a\x22\x02He\x2a\x01s", MetricMetadata("a", "gauge", "He", "s")),
        (b"\x2a\x01s\x12\x01a", MetricMetadata("a", unit="s")),
        (b"\x12\x01a\x08\x63", MetricMetadata("a")),  # a kind of a later version
        (b"\x12\x01a\x30\x07\x22\x01\xff", MetricMetadata("a", help="\ufffd")),
        (b"", MetricMetadata()),
    ],
)
def test_what_a_sender_tells_of_a_metric_is_read(content: bytes, meant: MetricMetadata) -> None:
    request = decode(GOOD + b"\x1a" + encode_varint(len(content)) + content, LabelCache())
    assert request.metadata == [meant]
    assert len(request.series) == 1


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        (b"", "missing label __name__"),
        (encode_labels({"job": "node"}), "missing label __name__"),
        (encode_labels({"__name__": "m"}) * 2, "duplicate label __name__"),
        (encode_labels({"__name__": "m", "": "x"}), "label without a name"),
    ],
)
def test_labels_that_name_no_series_cost_only_themselves(section: bytes, reason: str) -> None:
    request = decode(encode_series(section, [1, 2], [1.0, 2.0]) + GOOD, LabelCache())
    assert len(request.series) == 1
    assert request.refused == {reason: 2}


def test_text_that_is_not_utf8_is_refused() -> None:
    body = encode_series(encode_labels({"__name__": "mmm"}).replace(b"mmm", b"m\xff\xfe"), [1], [1.0])
    with pytest.raises(MalformedProtobufError, match="UTF-8"):
        decode(body, LabelCache())


def test_labels_go_out_sorted_and_empty_ones_not_at_all() -> None:
    assert encode_labels({"b": "2", "__name__": "m", "a": "1", "c": ""}) == (
        b"\x0a\x0d\x0a\x08__name__\x12\x01m\x0a\x06\x0a\x01a\x12\x011\x0a\x06\x0a\x01b\x12\x012"
    )
