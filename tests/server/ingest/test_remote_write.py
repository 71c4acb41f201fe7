"""Remote write in: what is acknowledged is stored, what is refused says why."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.serving import DAY, NOW, TOKEN, Server, request_of, series, serving
from tests.store.frames import answer
from vigie.model.nan import NAN, STALE, float_to_bits
from vigie.server.ingest.remote_write import LARGE_BYTES, PART_SERIES
from vigie.store.errors import WriteFailedError
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store
from vigie.wire.remote_write.protobuf import encode_varint
from vigie.wire.remote_write.write_request import compress, encode


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "store") as running:
        yield running


def test_acknowledged_samples_are_there_bit_for_bit_after_a_restart(tmp_path: Path) -> None:
    sent = series("a", [1.5, NAN, float("inf"), STALE], job="j", instance="i")
    with serving(tmp_path) as server:
        assert server.write(request_of(sent)).status == 204
    with Store(tmp_path) as store:
        found = answer(store)[frozenset(sent.labels.items())]
    assert found == dict(zip(sent.times, map(float_to_bits, sent.values), strict=True))


def test_what_was_written_can_be_asked(server: Server) -> None:
    server.write(request_of(series("a", [1.0, 2.0], job="j")))
    assert server.get("query", query="a", time=NOW / 1000).data["result"][0]["value"][1] == "2"


def test_late_and_repeated_samples_are_taken(server: Server) -> None:
    newer, older = series("a", [3.0], job="j"), Samples({"__name__": "a", "job": "j"}, [NOW - 60_000], [1.0])
    for body in (newer, older, newer):
        assert server.write(request_of(body)).status == 204
    found = server.get("query", query="a[5m]", time=NOW / 1000).data["result"][0]["values"]
    assert [value for _, value in found] == ["1", "3"]


@pytest.mark.parametrize("time", [NOW - 16 * DAY, NOW + 11 * 60_000])
def test_sample_out_of_bounds_is_refused_and_the_rest_is_kept(server: Server, time: int) -> None:
    bad = Samples({"__name__": "bad"}, [time, NOW], [1.0, 2.0])
    said = server.write(request_of(series("good", [1.0]), bad))
    assert said.status == 400
    assert "1 samples: out of bounds" in said.body.decode()
    assert "bad" in said.body.decode()
    found = server.get("query", query='{__name__=~"good|bad"}', time=NOW / 1000).data["result"]
    assert sorted(each["metric"]["__name__"] for each in found) == ["bad", "good"]


def test_series_without_a_name_is_refused_and_the_rest_is_kept(server: Server) -> None:
    said = server.write(request_of(Samples({"job": "j"}, [NOW], [1.0]), series("good", [1.0])))
    assert (said.status, b"missing label __name__" in said.body) == (400, True)
    assert len(server.get("query", query="good", time=NOW / 1000).data["result"]) == 1


def test_native_histograms_are_refused_and_exemplars_dropped(server: Server) -> None:
    labels = encode([series("good", [1.0])])
    histogram = bytes([0x0A, len(labels[2:]) + 2]) + labels[2:] + b"\x22\x00"
    said = server.write(compress(histogram))
    assert (said.status, b"1 native histograms" in said.body) == (400, True)
    assert len(server.get("query", query="good", time=NOW / 1000).data["result"]) == 1
    exemplar = bytes([0x0A, len(labels[2:]) + 2]) + labels[2:] + b"\x1a\x00"
    assert server.write(compress(exemplar)).status == 204


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}, 415),
        ({"Content-Type": "application/json"}, 415),
        ({"Content-Encoding": "zstd"}, 415),
        ({"Content-Type": "application/x-protobuf;proto=prometheus.WriteRequest"}, 204),
        ({"Authorization": "Bearer wrong"}, 401),
    ],
)
def test_other_protocols_and_strangers_are_refused(
    server: Server, headers: dict[str, str], status: int
) -> None:
    assert server.write(request_of(series("a", [1.0])), **headers).status == status


def test_writing_needs_the_token_even_on_loopback(server: Server) -> None:
    said = server.ask("POST", "/api/v1/write", request_of(series("a", [1.0])))
    assert (said.status, said.headers["www-authenticate"]) == (401, "Bearer")
    assert TOKEN.encode() not in said.body


@pytest.mark.parametrize("body", [b"", b"\xff" * 20, b"\x80\x80\x80\x80\x08abc", compress(b"\xff\xff\xff")])
def test_garbled_body_is_a_bad_request(server: Server, body: bytes) -> None:
    assert server.write(body).status in ((400, 204) if not body else (400,))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=100), st.booleans())
def test_any_body_is_taken_or_refused(server: Server, body: bytes, packed: bool) -> None:
    assert server.write(compress(body) if packed else body).status in (204, 400)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\x0a\x00" * 5_000_000, "more than 100000 series"),
        (b"\x0a" + encode_varint(4_000_000) + b"\x12\x00" * 2_000_000, "too many samples"),
        (b"\x00" * (33 << 20), "the limit is"),
    ],
    ids=["empty series", "empty samples", "large"],
)
def test_request_that_is_all_cost_is_refused(server: Server, body: bytes, reason: str) -> None:
    said = server.write(compress(body))
    assert (said.status, reason in said.body.decode()) == (400, True)


def test_large_request_is_stored_whole_and_its_problems_told(server: Server) -> None:
    wide = [series("wide", [1.0], n=f"{number:0100}") for number in range(2 * PART_SERIES + 1)]
    assert len(encode(wide)) > LARGE_BYTES
    assert server.write(request_of(*wide)).status == 204
    found = server.get("query", query="count(wide)", time=NOW / 1000).data["result"]
    assert found[0]["value"][1] == str(len(wide))
    late = Samples({"__name__": "wide", "n": "late"}, [NOW - 16 * DAY], [1.0])
    said = server.write(request_of(*wide, late))
    assert (said.status, b"1 samples: out of bounds" in said.body) == (400, True)


class SlowStore(Store):
    """A store that takes large parts only when it is told to."""

    go = threading.Event()
    entered = threading.Event()

    def append_series(self, series: Iterable[Samples]) -> None:
        samples = list(series)
        if samples[0].labels["__name__"] == "first":
            self.entered.set()
            self.go.wait(60)
        super().append_series(samples)


def test_small_requests_are_stored_between_the_parts_of_a_large_one(tmp_path: Path) -> None:
    wide = [series("first", [1.0])] + [
        series("wide", [1.0], n=f"{number:0100}") for number in range(4 * PART_SERIES)
    ]
    stored: list[str] = []
    with serving(tmp_path, kind=SlowStore) as server, ThreadPoolExecutor(2) as senders:

        def send(name: str, *samples: Samples) -> int:
            status = server.write(request_of(*samples)).status
            stored.append(name)
            return status

        large = senders.submit(send, "large", *wide)
        assert SlowStore.entered.wait(60)
        small = senders.submit(send, "small", series("small", [1.0]))
        deadline = time.monotonic() + 60
        while not server.writer.waiting and time.monotonic() < deadline:
            time.sleep(0.01)
        SlowStore.go.set()
        assert (small.result(), large.result()) == (204, 204)
    assert stored == ["small", "large"]


class FullDisk(Store):
    """A store that cannot write."""

    def sync(self) -> None:
        raise WriteFailedError("no space left")


def test_full_disk_asks_the_sender_to_try_again(tmp_path: Path) -> None:
    with serving(tmp_path, kind=FullDisk) as server:
        said = server.write(request_of(series("a", [1.0])))
    assert (said.status, said.headers["retry-after"]) == (503, "10")
    assert b"no space left" in said.body


class Faulty(Store):
    """A store with a fault."""

    def append_series(self, series: Iterable[Samples]) -> None:
        if any(samples.labels["__name__"] == "odd" for samples in series):
            raise IndexError("a fault of ours")
        super().append_series(series)


def test_fault_with_one_request_does_not_end_the_writing_of_all(tmp_path: Path) -> None:
    with serving(tmp_path, kind=Faulty) as server:
        assert server.write(request_of(series("odd", [1.0]))).status == 500
        assert server.write(request_of(series("good", [1.0]))).status == 204


class Held(Store):
    """A store whose first sync waits to be let go."""

    appended = syncs = 0
    go = threading.Event()

    def append_series(self, series: Iterable[Samples]) -> None:
        self.appended += 1
        super().append_series(series)

    def sync(self) -> None:
        self.syncs += 1
        self.go.wait(60)
        super().sync()


def test_requests_that_wait_together_share_a_sync(tmp_path: Path) -> None:
    with serving(tmp_path, kind=Held) as server, ThreadPoolExecutor(10) as senders:
        store = server.store
        assert isinstance(store, Held)
        bodies = [request_of(series(f"a{number}", [1.0])) for number in range(10)]
        sending = [senders.submit(server.write, body) for body in bodies]
        deadline = time.monotonic() + 60
        while store.appended + server.writer.waiting < 10 and time.monotonic() < deadline:
            time.sleep(0.01)
        store.go.set()
        assert [sent.result().status for sent in sending] == [204] * 10
        assert store.syncs <= 2
