from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sinks.peer import Peer
from vigie.common.endpoint import Endpoint, Secret
from vigie.model import ABSENT, NAN, Frame, Table, gauge
from vigie.model.nan import NAN_BITS, STALE_BITS, float_to_bits
from vigie.sinks._remote_write.sender import RemoteWrite, RemoteWriteOptions

QUICK = RemoteWriteOptions(batch_seconds=0.0, first_pause=0.005, longest_pause=0.02, request_seconds=5.0)
METRIC = gauge("g", "G.", "n")
NOW = 1_700_000_000_000


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as each:
        yield each


def table(*names: str, version: int = 1) -> Table:
    return Table("t", version, tuple((METRIC, (name,)) for name in names))


def frame(place: int, each: Table, *values: float) -> Frame:
    return Frame(NOW + place * 1000, ((each, values),))


def sent(place: int, value: float) -> tuple[int, int]:
    return NOW + place * 1000, float_to_bits(value)


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    "mood",
    [
        *("500", "503", "429:0", f"429:{DATE}", "503:soon", "302", "401", "404"),
        *("cut", "take and cut", "half", "garbage"),
    ],
)
def test_whatever_goes_wrong_every_sample_arrives_once_and_in_order(
    peer: Peer, tmp_path: Path, mood: str
) -> None:
    sink, two = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK), table("a", "b")
    for place in range(20):
        if place % 3 == 1:
            peer.moods.append(mood)
        sink.write(frame(place, two, place, -place), "n1")
    peer.wait(lambda: len(peer.taken) == 40)
    sink.close()
    assert peer.values(n="a")[:20] == [sent(place, place) for place in range(20)]
    assert peer.values(n="b")[:20] == [sent(place, -place) for place in range(20)]
    assert sink.state().dropped == {}


def test_peer_that_hangs_is_left_after_the_deadline(peer: Peer, tmp_path: Path) -> None:
    peer.moods.append("hang")
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK._replace(request_seconds=0.2))
    sink.write(frame(0, table("a"), 1.0), "n1")
    peer.wait(lambda: len(peer.taken) == 1)
    sink.close()
    assert sink.state().failures >= 1  # a busy machine may be too slow for the next try, too


def test_retry_after_is_honoured(peer: Peer, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    peer.moods.append("429:3600")
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    sink.write(frame(0, table("a"), 1.0), "n1")
    peer.wait(lambda: sink.state().failures == 1)
    sink.write(frame(1, table("a"), 2.0), "n1")
    sink.close()
    assert len(peer.paths) == 1  # and none since: an hour has not passed
    assert "429 not now" in caplog.text
    assert "\x1b" not in caplog.text


def test_only_refused_samples_are_dropped_and_the_reason_is_said_once(
    peer: Peer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = {"7", "31"}
    peer.refuse = lambda labels, _: "label n is silly" if dict(labels)["n"] in bad else ""
    names = [str(n) for n in range(50)]
    sink, many = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK), table(*names)
    for place in range(3):
        sink.write(frame(place, many, *range(50)), "n1")
    peer.wait(lambda: len(peer.taken) == 3 * 48)
    sink.close()
    for name in names:
        expected = [sent(place, float(name)) for place in range(3)] if name not in bad else []
        assert peer.values(n=name)[:3] == expected
    assert sink.state().dropped == {"status 400": 8}  # with the two stale markers at the end
    assert caplog.text.count("label n is silly") == 1


def test_out_of_bounds_is_asked_once_a_timestamp_and_not_once_a_sample(peer: Peer, tmp_path: Path) -> None:
    peer.refuse = lambda _, when: "out of bounds" if when < NOW + 2000 else ""
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK._replace(batch_samples=10_000, batch_seconds=3600))
    many = table(*(str(n) for n in range(100)))
    for place in range(4):
        sink.write(frame(place, many, *range(100)), "n1")
    sink.close()
    assert [when for when, _ in peer.values(n="5")[:2]] == [NOW + 2000, NOW + 3000]
    assert sink.state().dropped == {"out of bounds": 200}
    assert len(peer.paths) < 10


def test_late_sample_goes_apart_and_costs_no_other(peer: Peer, tmp_path: Path) -> None:
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK._replace(batch_seconds=3600))
    labels = [{"__name__": "m", "n": str(n)} for n in range(10)]
    sink.write_series([(each, [NOW], [1.0]) for each in labels])
    sink.write_series([(each, [NOW + 1000 - 2000 * (n == 4)], [2.0]) for n, each in enumerate(labels)])
    sink.write_series([(each, [NOW + 2000], [3.0]) for each in labels])
    sink.close()
    assert len(peer.taken) == 29
    assert peer.values(n="4") == [(NOW, float_to_bits(1.0)), (NOW + 2000, float_to_bits(3.0))]
    assert len(peer.paths) == 2  # one for those in order, one for the late sample
    assert sink.state().dropped == {"out of order": 1}


BATCHED = QUICK._replace(batch_seconds=3600, batch_samples=100_000)


def many_times(peer: Peer, directory: Path) -> RemoteWrite:
    """Send one request with three times of each of thirty series, and return when all are accounted for."""
    options = BATCHED._replace(batch_samples=90)
    sink, many = RemoteWrite(Endpoint(peer.url), directory, options), table(*map(str, range(30)))
    for place in range(3):
        sink.write(frame(place, many, *range(30)), "n1")
    peer.wait(lambda: sink.state().sent + sum(sink.state().dropped.values()) == 90)
    sink.close()
    return sink


def test_request_that_arrived_although_its_answer_was_lost_is_not_counted_as_dropped(
    peer: Peer, tmp_path: Path
) -> None:
    peer.moods.append("take and cut")
    sink = many_times(peer, tmp_path)
    assert sink.state().failures == 1
    assert sink.state().dropped == {}
    assert sink.state().sent == 120  # with the stale markers at the end
    assert len(peer.paths) <= 12
    assert peer.values(n="7")[:3] == [sent(place, 7) for place in range(3)]


def test_request_that_was_lost_is_sent_again_however_many_late_samples_it_has(
    peer: Peer, tmp_path: Path
) -> None:
    ahead = RemoteWrite(Endpoint(peer.url), tmp_path / "ahead", QUICK)
    ahead.write(frame(2, table("0", "7", "8"), 0.5, 0.5, 0.5), "n1")
    peer.wait(lambda: len(peer.taken) == 3)
    peer.moods.append("cut")
    sink = many_times(peer, tmp_path / "queue")
    ahead.close(0.0)
    assert sink.state().failures == 1
    assert sink.state().dropped == {"out of order": 9}  # three times of three series
    for n in set(range(30)) - {0, 7, 8}:
        assert peer.values(n=str(n))[:3] == [sent(place, n) for place in range(3)]


def test_series_that_is_in_two_tables_is_sent_once(peer: Peer, tmp_path: Path) -> None:
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    one, other = table("a", "b"), table("b", "c", "c")._replace(source="u")
    for place in range(3):
        sink.write(Frame(NOW + place * 1000, ((one, (1.0, 2.0)), (other, (3.0, 4.0, 5.0)))), "n1")
    sink.close()
    assert [peer.values(n=name)[:3] for name in "abc"] == [
        [sent(place, value) for place in range(3)] for value in (1, 2, 4)
    ]
    assert sink.state().dropped == {}


def test_frame_that_comes_late_goes_apart_and_ends_nothing(peer: Peer, tmp_path: Path) -> None:
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, BATCHED)
    sink.write(frame(0, table("a", "b"), 1.0, 2.0), "n1")
    sink.write(frame(2, table("a", "b"), 3.0, 4.0), "n1")
    sink.write(frame(1, table("a", version=0), 9.0), "n1")
    sink.write(frame(3, table("a", "b"), 5.0, 6.0), "n1")
    sink.close()
    assert peer.values(n="a")[:3] == [sent(0, 1), sent(2, 3), sent(3, 5)]
    assert peer.values(n="b")[:3] == [sent(0, 2), sent(2, 4), sent(3, 6)]
    assert sink.state().dropped == {"out of order": 1}


def test_node_that_is_far_behind_goes_apart(peer: Peer, tmp_path: Path) -> None:
    peer.refuse = lambda labels, _: "out of bounds" if dict(labels).get("instance") == "n2" else ""
    sink, one = RemoteWrite(Endpoint(peer.url), tmp_path, BATCHED), table("a")
    for place in range(3):
        sink.write(frame(place, one, place), "n1")
        sink.write(frame(place - 3600, one, place), "n2")
    sink.close()
    assert peer.values(instance="n1")[:3] == [sent(place, place) for place in range(3)]
    assert len(peer.paths) == 6  # one for those in order, and the others in halves
    assert sink.state().dropped == {"out of bounds": 3}


def test_series_that_leaves_its_table_or_has_no_value_is_marked_stale(peer: Peer, tmp_path: Path) -> None:
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    sink.write(frame(0, table("a", "b", "c"), 1.0, 2.0, NAN), "n1")
    sink.write(frame(1, table("a", "b", "c"), 1.0, ABSENT, NAN), "n1")
    sink.write(frame(2, table("a", version=2), 1.0), "n1")
    sink.write(frame(3, table(version=3)), "n1")
    peer.wait(lambda: len(peer.taken) == 9)
    sink.close()
    assert [bits for _, bits in peer.values(n="a")] == [float_to_bits(1.0)] * 3 + [STALE_BITS]
    assert peer.values(n="b") == [sent(0, 2.0), (NOW + 1000, STALE_BITS)]
    assert [bits for _, bits in peer.values(n="c")] == [NAN_BITS, NAN_BITS, STALE_BITS]


def test_clean_stop_ends_every_series(peer: Peer, tmp_path: Path) -> None:
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    sink.write(frame(0, table("a"), 1.0), "n1")
    sink.close()
    (_, first), (when, last) = peer.values(n="a")
    assert (first, last) == (float_to_bits(1.0), STALE_BITS)
    assert when > NOW


def test_labels_are_those_of_the_target_with_external_ones_behind(peer: Peer, tmp_path: Path) -> None:
    options = QUICK._replace(external_labels=(("cluster", "c1"), ("n", "never")))
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, options)
    odd = Table("odd", 1, ((gauge("g", "G.", "job", "n"), ("mine", "x")),))
    sink.write(Frame(NOW, ((odd, (1.0,)),)), "n1")
    sink.close()
    assert dict(peer.taken[0][0]) == {
        "__name__": "g",
        "cluster": "c1",
        "exported_job": "mine",
        "instance": "n1",
        "job": "node",
        "n": "x",
    }


def test_queue_survives_a_restart_and_goes_out_in_order(peer: Peer, tmp_path: Path) -> None:
    away = Endpoint("http://127.0.0.1:1/api/v1/write")
    for place in range(3):
        sink = RemoteWrite(away, tmp_path, QUICK)
        sink.write_series([({"__name__": "m"}, [NOW + place * 1000], [float(place)])])
        sink.close(0.1)
    assert sink.state().queue_bytes > 0
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    peer.wait(lambda: len(peer.taken) == 3)
    sink.close()
    assert peer.values() == [sent(place, place) for place in range(3)]


def test_full_queue_drops_the_oldest_and_counts_them(
    peer: Peer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    away = Endpoint("http://127.0.0.1:1/api/v1/write")
    sink = RemoteWrite(away, tmp_path, QUICK._replace(queue_bytes=4000))
    for place in range(400):
        sink.write_series([({"__name__": "m"}, [NOW + place * 1000], [float(place)])])
    assert sink.state().queue_bytes <= 4000
    dropped = sink.state().dropped["queue full"]
    sink.close(0.1)
    second = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    peer.wait(lambda: len(peer.taken) == 400 - dropped)
    second.close()
    assert peer.values() == [sent(place, place) for place in range(dropped, 400)]
    assert caplog.text.count("dropping the oldest") == 1


def test_secrets_are_sent_and_never_logged(
    peer: Peer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text("sesame\n")
    targets = [
        Endpoint(peer.url, token=Secret(str(tmp_path / "token")), headers=(("X-Scope-OrgID", "one"),)),
        Endpoint(peer.url.replace("//", "//me:sesame@")),
    ]
    caplog.set_level(logging.DEBUG)
    for place, target in enumerate(targets):
        peer.moods.append("500")
        sink = RemoteWrite(target, tmp_path / "queue", QUICK)
        sink.write_series([({"__name__": "m"}, [NOW + place], [1.0])])
        peer.wait(lambda place=place: len(peer.taken) == place + 1)  # type: ignore[misc]
        sink.close()
    assert peer.headers[1]["Authorization"] == "Bearer sesame"
    assert peer.headers[1]["X-Scope-OrgID"] == "one"
    assert peer.headers[1]["Content-Encoding"] == "snappy"
    assert peer.headers[-1]["Authorization"] == "Basic bWU6c2VzYW1l"
    assert "//me:***@" in caplog.text
    assert "sesame" not in caplog.text


def test_second_process_on_the_queue_is_refused(peer: Peer, tmp_path: Path) -> None:
    sink = RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    with pytest.raises(BlockingIOError, match="in use by another process"):
        RemoteWrite(Endpoint(peer.url), tmp_path, QUICK)
    sink.close()
