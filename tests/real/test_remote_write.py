"""Remote write into a real Prometheus and a real VictoriaMetrics, and questions asked of both."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from bench.programs import Program, free_port, running

from tests.real.conftest import get, need
from vigie.common.endpoint import Endpoint
from vigie.model import Frame, Table, gauge
from vigie.query.errors import BadDataError, QueryError
from vigie.query.remote_engine import RemoteEngine
from vigie.query.storage import Matcher
from vigie.sinks._remote_write.sender import RemoteWrite, RemoteWriteOptions
from vigie.wire.remote_write.write_request import Series

OPTIONS = RemoteWriteOptions(batch_samples=200, batch_seconds=0.05, first_pause=0.05, longest_pause=0.2)
METRIC = gauge("vigie_test_value", "A value.", "n")
SERIES = 40


class Engine(NamedTuple):
    """A peer that can be started and stopped, its data kept."""

    name: str
    url: str
    start: Callable[[], AbstractContextManager[Program]]
    flush: Callable[[], None]  # what was taken can be asked for from here on

    def target(self) -> Endpoint:
        return Endpoint(f"{self.url}/api/v1/write")


@pytest.fixture(params=["prometheus", "victoria-metrics"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """Return a peer that does not run yet."""
    return (_prometheus if request.param == "prometheus" else _victoria_metrics)(tmp_path, free_port())


def _prometheus(home: Path, port: int) -> Engine:
    (home / "prometheus.yml").write_text("")
    command = [
        need("prometheus"),
        f"--config.file={home}/prometheus.yml",
        f"--storage.tsdb.path={home}/data",
        "--web.enable-remote-write-receiver",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    return _engine("prometheus", command, port, lambda: None)


def _victoria_metrics(home: Path, port: int) -> Engine:
    command = [
        need("victoria-metrics"),
        f"-httpListenAddr=127.0.0.1:{port}",
        f"-storageDataPath={home}/data",
        "-retentionPeriod=100y",
        "-search.latencyOffset=0s",
        "-search.disableCache",
    ]
    flush = f"http://127.0.0.1:{port}/internal/force_flush"
    return _engine("victoria-metrics", command, port, lambda: void(get(flush)))


def void(_: str) -> None:
    """Take an answer that does not matter."""


def _engine(name: str, command: list[str], port: int, flush: Callable[[], None]) -> Engine:
    url = f"http://127.0.0.1:{port}"

    @contextlib.contextmanager
    def start() -> Iterator[Program]:
        with running(command, port, "/") as program:
            _until(lambda: _answers(f"{url}/-/healthy") and _answers(f"{url}/api/v1/query?query=1"))
            yield program

    return Engine(name, url, start, flush)


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError):
        get(url)
        return True
    return False


def _until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.02)


def _frames(first: int, count: int, begin: int) -> list[Frame]:
    table = Table("test", 1, tuple((METRIC, (str(n),)) for n in range(SERIES)))
    return [
        Frame(begin + place * 1000, ((table, tuple(float(place * 100 + n) for n in range(SERIES))),))
        for place in range(first, first + count)
    ]


def _kept(engine: Engine, at: int) -> dict[str, dict[int, float]]:
    """Return every raw sample that the peer has, by the label n."""
    engine.flush()
    asked = RemoteEngine(engine.target()._replace(url=engine.url))
    with contextlib.closing(asked):
        answer = asked.instant("vigie_test_value[1h]", at)
    return {
        series.labels["n"]: dict(zip(series.times.tolist(), series.values.tolist(), strict=True))
        for series in answer.series
    }


def _series(place: int, begin: int) -> list[Series]:
    return [
        ({"__name__": "vigie_test_value", "n": str(n)}, [begin + place * 1000], [float(place * 100 + n)])
        for n in range(SERIES)
    ]


def test_peer_away_and_our_restart_lose_nothing(engine: Engine, tmp_path: Path) -> None:
    begin = round(time.time()) * 1000 - 600_000
    queue = tmp_path / "queue"
    sink = RemoteWrite(engine.target(), queue, OPTIONS)
    for place in range(20):
        sink.write_series(_series(place, begin))
    _until(lambda: sink.state().failures > 0)
    with engine.start():
        _until(lambda: sink.state().sent == 20 * SERIES)
        for place in range(20, 25):
            sink.write_series(_series(place, begin))
        _until(lambda: sink.state().sent == 25 * SERIES)
    failures = sink.state().failures
    for place in range(25, 45):  # it is away again, and ours stops before it is back
        sink.write_series(_series(place, begin))
    _until(lambda: sink.state().failures > failures)
    sink.close(0.1)
    second = RemoteWrite(engine.target(), queue, OPTIONS)
    for place in range(45, 50):
        second.write_series(_series(place, begin))
    with engine.start():
        _until(lambda: second.state().sent >= 25 * SERIES)
        kept = _kept(engine, begin + 60_000)
    second.close(1)
    assert second.state().dropped == {}
    assert kept == {
        str(n): {begin + place * 1000: float(place * 100 + n) for place in range(50)} for n in range(SERIES)
    }


@contextlib.contextmanager
def losing_the_first_answer(url: str) -> Iterator[str]:
    """Pass requests on, and end the first connection when its request has been answered over there."""
    lost: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = urllib.request.Request(url, body, dict(self.headers.items()))
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    status, said = answer.status, b""
            except urllib.error.HTTPError as error:
                with error:
                    status, said = error.code, error.read()
            if not lost:
                lost.append(status)
                self.close_connection = True
                return
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/api/v1/write"
        server.shutdown()
        thread.join()
    assert lost == [204]


def test_request_whose_answer_is_lost_is_there_once_and_nothing_counts_as_dropped(
    engine: Engine, tmp_path: Path
) -> None:
    begin = round(time.time()) * 1000 - 600_000
    with engine.start(), losing_the_first_answer(f"{engine.url}/api/v1/write") as lossy:
        options = OPTIONS._replace(batch_samples=5 * SERIES, batch_seconds=60)
        sink = RemoteWrite(Endpoint(lossy), tmp_path / "queue", options)
        for place in range(5):
            sink.write_series(_series(place, begin))
        _until(lambda: sink.state().sent == 5 * SERIES)
        sink.close()
        kept = _kept(engine, begin + 60_000)
    assert sink.state().failures == 1
    assert sink.state().dropped == {}
    assert kept == {
        str(n): {begin + place * 1000: float(place * 100 + n) for place in range(5)} for n in range(SERIES)
    }


def test_one_late_sample_costs_only_itself_at_most(engine: Engine, tmp_path: Path) -> None:
    begin = round(time.time()) * 1000 - 600_000
    labels = [{"__name__": "vigie_test_value", "n": str(n)} for n in range(SERIES)]
    with engine.start():
        sink = RemoteWrite(engine.target(), tmp_path / "queue", OPTIONS._replace(batch_seconds=60))
        for place in range(10):
            times = [begin + place * 1000 - 5_500 * (place == 7 and n == 3) for n in range(SERIES)]
            values = [place * 100.0 + n for n in range(SERIES)]
            sink.write_series([(labels[n], [times[n]], [values[n]]) for n in range(SERIES)])
        sink.close()
        kept = _kept(engine, begin + 60_000)
    expected = {str(n): {begin + p * 1000: p * 100.0 + n for p in range(10)} for n in range(SERIES)}
    late = expected["3"].pop(begin + 7000)
    if engine.name == "victoria-metrics":
        expected["3"][begin + 1500] = late
    assert kept == expected
    assert sink.state().dropped == ({} if engine.name == "victoria-metrics" else {"out of order": 1})


def test_samples_refused_among_good_ones_are_found_by_halving(engine: Engine, tmp_path: Path) -> None:
    if engine.name == "victoria-metrics":
        pytest.skip("VictoriaMetrics refuses no sample")
    begin = round(time.time()) * 1000 - 600_000
    labels = [{"__name__": "vigie_test_value", "n": str(n)} for n in range(SERIES)]
    with engine.start():
        first = RemoteWrite(engine.target(), tmp_path / "one", OPTIONS)
        first.write_series([(labels[5], [begin + 9000], [1.0]), (labels[17], [begin + 9000], [1.0])])
        first.close()
        second = RemoteWrite(engine.target(), tmp_path / "two", OPTIONS)  # it knows nothing of these
        second.write_series([(each, [begin], [2.0]) for each in labels])
        second.close()
        kept = _kept(engine, begin + 60_000)
    assert second.state().dropped == {"out of order": 2}
    assert {n for n, points in kept.items() if begin in points} == {str(n) for n in range(SERIES)} - {
        "5",
        "17",
    }


def test_series_that_ends_is_gone_at_once(engine: Engine, tmp_path: Path) -> None:
    begin = round(time.time()) * 1000 - 60_000
    both = Table("test", 1, ((METRIC, ("0",)), (METRIC, ("1",))))
    one = Table("test", 2, ((METRIC, ("0",)),))
    with engine.start(), contextlib.closing(RemoteEngine(Endpoint(engine.url))) as asked:
        sink = RemoteWrite(engine.target(), tmp_path / "queue", OPTIONS)
        for place, (table, values) in enumerate([(both, (1.0, 1.0)), (both, (2.0, 2.0)), (one, (3.0,))]):
            sink.write(Frame(begin + place * 1000, ((table, values),)), "n1")
        _until(lambda: sink.state().sent == 6)
        engine.flush()
        found = asked.instant("vigie_test_value", begin + 2500)
        assert [series.labels["n"] for series in found.series] == ["0"]
        assert found.series[0].labels["instance"] == "n1"
        assert found.series[0].labels["job"] == "node"
        sink.close()
        engine.flush()
        _until(lambda: not asked.instant("vigie_test_value", round(time.time() * 1000)).series)


def test_remote_engine_says_what_the_http_api_says(engine: Engine, tmp_path: Path) -> None:
    begin = round(time.time()) * 1000 - 600_000
    with engine.start(), contextlib.closing(RemoteEngine(Endpoint(engine.url + "/"))) as asked:
        sink = RemoteWrite(engine.target(), tmp_path / "queue", OPTIONS)
        for frame in _frames(0, 10, begin):
            sink.write(frame, "n1")
        _until(lambda: sink.state().sent == 10 * SERIES)
        engine.flush()
        two = [Matcher("__name__", "=", "vigie_test_value"), Matcher("n", "=~", "1|2")]
        span = (begin, begin + 60_000)
        assert sorted(labels["n"] for labels in asked.series(two, *span)) == ["1", "2"]
        assert asked.label_values("n", two, *span) == ["1", "2"]
        assert {"__name__", "instance", "job", "n"} <= set(asked.label_names([], *span))
        ranged = asked.range('sum(vigie_test_value{n=~"1|2"})', begin, begin + 9000, 1000)
        assert ranged.kind == "matrix"
        assert ranged.series[0].times.tolist() == [begin + place * 1000 for place in range(10)]
        assert ranged.series[0].values.tolist() == [place * 200 + 3 for place in range(10)]
        assert asked.instant("1 + 1", begin).series[0].values.tolist() == [2.0]
        with pytest.raises(BadDataError if engine.name == "prometheus" else QueryError):
            asked.instant("sum(", begin)
        body = f"query=1%2B1&time={begin / 1000}".encode()
        form = "application/x-www-form-urlencoded"
        status, kind, said = asyncio.run(asked.forward("POST", "/api/v1/query", "", body, form))
        assert (status, kind.partition(";")[0]) == (200, "application/json")
        assert b'"2"' in said
        sink.close()
