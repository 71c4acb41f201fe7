"""A trace is read in pieces whatever its layout, and what is broken costs only itself."""

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.trace.analysis.reader import InvalidTraceError, TraceReader, open_trace

NAMES = st.text(st.sampled_from('ab},{]["\\ é\n'), max_size=12)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "ph": st.sampled_from(("X", "M", "s")),
            "name": NAMES,
            "ts": st.floats(0, 1e12),
            "dur": st.integers(0, 9),
        },
        optional={
            "cat": NAMES,
            "pid": st.one_of(st.integers(), st.just("Spans")),
            "args": st.just({"name": "}, {"}),
        },
    ),
    max_size=30,
)
LAYOUTS: tuple[dict[str, Any], ...] = ({"indent": 2}, {"separators": (",", ":")}, {})


def read(text: bytes, piece_bytes: int = 64) -> tuple[TraceReader, list[Any]]:
    reader = TraceReader(io.BytesIO(text), piece_bytes=piece_bytes)
    return reader, [event for batch in reader.read_batches() for event in batch]


@given(EVENTS, st.sampled_from(LAYOUTS), st.integers(16, 300))
def test_every_layout_gives_what_json_gives(
    events: list[dict[str, Any]], layout: dict[str, Any], piece_bytes: int
) -> None:
    trace = {"schemaVersion": 1, "deviceProperties": [], "traceEvents": events, "traceName": "/tmp/x.json"}
    reader, decoded = read(json.dumps(trace, **layout).encode(), piece_bytes)
    assert [(e.ph, e.name, e.ts) for e in decoded] == [(e["ph"], e["name"], e["ts"]) for e in events]
    assert (reader.bad_events, reader.is_truncated) == (0, False)
    assert reader.metadata["schemaVersion"] == 1
    assert reader.metadata["traceName"] == "/tmp/x.json"


def test_bare_list_of_older_exporters_is_read() -> None:
    _, events = read(b' [{"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "name": "b", "ts": 2}]')
    assert [event.name for event in events] == ["a", "b"]


def test_file_cut_in_the_middle_gives_what_is_whole() -> None:
    text = json.dumps({"traceEvents": [{"ph": "X", "name": f"op{i}", "ts": i} for i in range(100)]}).encode()
    reader, events = read(text[: len(text) // 2])
    assert reader.is_truncated
    assert [event.name for event in events] == [f"op{i}" for i in range(len(events))]
    assert 40 < len(events) < 60


def test_compressed_file_cut_in_the_middle_is_truncated_not_an_error() -> None:
    text = json.dumps({"traceEvents": [{"ph": "X", "name": f"op{i}", "ts": i} for i in range(5000)]}).encode()
    half = gzip.compress(text)[:-200]
    reader = TraceReader(open_trace(io.BytesIO(half)))
    events = [event for batch in reader.read_batches() for event in batch]
    assert reader.is_truncated
    assert events


def test_broken_event_costs_only_itself() -> None:
    text = (
        b'{"traceEvents": [{"ph": "X", "name": "a"}, {"ph": "X", "name": "b"c"}, {"ph": "X", "name": "d"}]}'
    )
    reader, events = read(text, piece_bytes=4096)
    assert [event.name for event in events] == ["a", "d"]
    assert reader.bad_events == 1


def test_number_that_json_does_not_have_costs_only_its_event() -> None:
    text = b'{"traceEvents": [' + b'{"ph": "X", "name": "a", "ts": inf}, ' * 3 + b'{"ph": "X", "name": "b"}]}'
    reader, events = read(text, piece_bytes=32)
    assert [event.name for event in events] == ["b"]
    assert reader.bad_events == 3


@given(st.binary(max_size=400))
def test_garbage_is_refused_or_read_as_nothing(garbage: bytes) -> None:
    try:
        read(garbage)
    except InvalidTraceError:
        return


def test_decompression_bomb_is_refused() -> None:
    bomb = gzip.compress(b'{"traceEvents": [' + b" " * 10_000_000)
    reader = TraceReader(open_trace(io.BytesIO(bomb)), max_bytes=1_000_000)
    with pytest.raises(InvalidTraceError, match="larger than"):
        list(reader.read_batches())
