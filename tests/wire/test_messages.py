"""What travels: bit for bit, and junk is told from what is merely newer."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.agent.link.entries import EncodedFrame, Entry, decode_segment, encode_segment, pack_values
from vigie.model import ABSENT, NAN, STALE, Binding, Event, Metric, Table, gauge
from vigie.model.nan import float_to_bits
from vigie.wire import messages, table_codec
from vigie.wire.messages import Ack, FrameMessage, Goodbye, Hello, MalformedMessageError

LABELS = st.text(max_size=5)
METRICS = st.sampled_from([gauge("a", "A.", "x"), gauge("b", "B.", "x"), gauge("c", "C.", "x")])
SERIES = st.lists(st.tuples(METRICS, st.tuples(LABELS)), max_size=12, unique=True).map(tuple)


def test_every_bit_pattern_of_nan_survives() -> None:
    data = pack_values([1.5, NAN, STALE, ABSENT])
    back = messages.decode(messages.encode(FrameMessage(1, 1000, 5, [(0, data)])))
    assert isinstance(back, FrameMessage)
    bits = [int.from_bytes(data[i : i + 8], "little") for i in range(0, 32, 8)]
    assert back.parts == [(0, data)]
    assert bits == [float_to_bits(1.5), float_to_bits(NAN), float_to_bits(STALE), float_to_bits(ABSENT)]


def test_field_that_only_a_newer_version_knows_is_passed_over() -> None:
    newer = msgspec.msgpack.encode({"type": "ack", "sequence": 7, "colour": "blue"})
    assert messages.decode(newer) == Ack(7)


def test_message_that_only_a_newer_version_knows_is_passed_over() -> None:
    assert messages.decode(msgspec.msgpack.encode({"type": "song", "verse": 1})) is None


def test_hello_of_an_older_agent_needs_only_who_it_is() -> None:
    older = msgspec.msgpack.encode({"type": "hello", "protocol": 1, "node": "n1", "start": "s"})
    assert messages.decode(older) == Hello(1, "n1", "s")


@pytest.mark.parametrize(
    "message",
    [
        {"type": "ack"},
        {"type": "frame", "sequence": 0, "time_ms": 1, "uptime_ms": 0, "parts": []},
        {"type": "table", "number": 1024, "source": "s", "version": 1, "layout": b""},
        {"type": "hello", "protocol": 1, "node": "n" * 254, "start": "s"},
        {"sequence": 1},
        [1, 2],
        "junk",
    ],
)
def test_known_message_with_a_bad_field_is_refused(message: object) -> None:
    with pytest.raises(MalformedMessageError):
        messages.decode(msgspec.msgpack.encode(message))


@given(st.binary(max_size=200))
def test_garbage_is_malformed_and_nothing_worse(data: bytes) -> None:
    for read in (messages.decode, table_codec.decode_layout, lambda data: decode_segment(data, "boot")):
        try:
            read(data)
        except MalformedMessageError:
            pass


@given(st.binary(max_size=60), st.integers(0, 120))
def test_spoilt_message_is_malformed_and_nothing_worse(noise: bytes, place: int) -> None:
    whole = messages.encode(Hello(1, "n1", "start", labels={"rack": "r1"}, addresses=["10.0.0.1"]))
    try:
        messages.decode(whole[:place] + noise + whole[place + len(noise) :])
    except MalformedMessageError:
        pass


@given(SERIES)
def test_layout_comes_back_as_it_was(series: tuple[tuple[Metric, tuple[str, ...]], ...]) -> None:
    assert table_codec.decode_layout(table_codec.encode_layout(series)) == series


@given(SERIES, SERIES)
def test_difference_leads_from_the_old_table_to_the_new(
    old: tuple[tuple[Metric, tuple[str, ...]], ...], new: tuple[tuple[Metric, tuple[str, ...]], ...]
) -> None:
    change = table_codec.diff_tables(old, new)
    if change is not None:
        assert table_codec.apply_delta(old, change) == new


def test_one_series_more_is_told_as_one_series() -> None:
    metric = gauge("a", "A.", "x")
    old = tuple((metric, (str(i),)) for i in range(100))
    change = table_codec.diff_tables(old, (*old[:50], (metric, ("new",)), *old[51:]))
    assert change == (((metric, ("new",)),), [50], [50])


@given(SERIES, st.lists(st.integers(-3, 15)), st.lists(st.integers(-3, 15)), SERIES)
def test_difference_that_does_not_fit_is_refused(
    old: tuple[tuple[Metric, tuple[str, ...]], ...],
    places: list[int],
    ended: list[int],
    added: tuple[tuple[Metric, tuple[str, ...]], ...],
) -> None:
    try:
        table_codec.apply_delta(old, table_codec.TableDelta(added, places, ended))
    except MalformedMessageError:
        pass


def test_piece_for_the_disk_holds_all_that_its_entries_need() -> None:
    table = Table("cpu", 3, ((gauge("a", "A.", "x"), ("1",)),))
    entries: list[Entry] = [
        EncodedFrame(1000, 7, ((table, pack_values([ABSENT])),)),
        Event("xid", 900, "it fell off the bus", {"gpu": "0"}, None, "critical"),
        Binding("gpu0", "job", "17", 5, None),
    ]
    piece = encode_segment(entries, "boot-1")
    assert decode_segment(piece, "boot-1") == entries
    after_reboot = decode_segment(piece, "boot-2")[0]
    assert isinstance(after_reboot, EncodedFrame)
    assert after_reboot.uptime_ms == 0


def test_goodbye_needs_no_reason() -> None:
    assert messages.decode(messages.encode(Goodbye())) == Goodbye("")
