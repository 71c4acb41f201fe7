from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vigie.common.endpoint import Endpoint
from vigie.query.errors import BadDataError, ExecutionError, QueryError, QueryTimeoutError
from vigie.query.remote_engine import BackendUnavailableError, RemoteEngine
from vigie.query.storage import Matcher


class Page(BaseHTTPRequestHandler):
    """Says what the server was told to say."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.command, self.path, self._body()))
        if self.server.hang:
            self.server.release.wait(60)
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.server.said)))
        self.end_headers()
        self.wfile.write(self.server.said)

    def do_POST(self) -> None:
        self.do_GET()

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.status, self.said, self.hang = 200, b"", False
        self.release = threading.Event()
        self.asked: list[tuple[str, str, bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def engine(server: Server) -> Iterator[RemoteEngine]:
    with contextlib.closing(RemoteEngine(Endpoint(server.url + "/prometheus/"))) as engine:
        yield engine


def success(data: object) -> bytes:
    return json.dumps({"status": "success", "data": data, "warnings": ["careful"]}).encode()


def test_path_in_front_stays_and_long_queries_go_by_post(server: Server, engine: RemoteEngine) -> None:
    server.said = success({"resultType": "scalar", "result": [1.5, "+Inf"]})
    answer = engine.instant("1/0", 1500)
    assert (answer.kind, answer.warnings) == ("scalar", ("careful",))
    assert answer.series[0].times.tolist() == [1500]
    assert answer.series[0].values.tolist() == [float("inf")]
    assert server.asked == [("POST", "/prometheus/api/v1/query", b"query=1%2F0&time=1.500")]


def test_matchers_become_a_selector(server: Server, engine: RemoteEngine) -> None:
    server.said = success(["a"])
    matchers = [Matcher("n", "=~", 'x"\\d'), Matcher("m", "!=", "é")]
    assert engine.label_values("a/b", matchers, 0, 1000) == ["a"]
    _, path, _ = server.asked[0]
    assert path.startswith("/prometheus/api/v1/label/a%2Fb/values?start=0.000&end=1.000&match%5B%5D=")
    assert path.endswith("%7Bn%3D~%22x%5C%22%5C%5Cd%22%2Cm%21%3D%22%C3%A9%22%7D")


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (400, "bad_data", BadDataError),
        (422, "execution", ExecutionError),
        (503, "timeout", QueryTimeoutError),
        (422, "422", ExecutionError),  # VictoriaMetrics gives the status for a kind
        (400, "odd", BadDataError),
    ],
)
def test_errors_of_the_peer_become_ours(
    server: Server, engine: RemoteEngine, status: int, kind: str, error: type[QueryError]
) -> None:
    server.status = status
    server.said = json.dumps({"status": "error", "errorType": kind, "error": "why not"}).encode()
    with pytest.raises(error, match="why not"):
        engine.instant("x", 0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.binary(max_size=50)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["status", "data", "result", "resultType", "metric", "value", "values"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    ).map(lambda data: success({"resultType": "vector", "result": data}))
)
@example(b"[" * 100_000)
@example(b'{"status": "success"}')
@example(b"null")
def test_garbage_is_an_error_and_never_an_accident(server: Server, engine: RemoteEngine, said: bytes) -> None:
    server.said = said
    with contextlib.suppress(QueryError):
        engine.instant("x", 0)
    with contextlib.suppress(QueryError):
        engine.label_names([], 0, 1)


def test_peer_that_hangs_is_a_time_out(server: Server) -> None:
    server.hang = True
    with (
        contextlib.closing(RemoteEngine(Endpoint(server.url), seconds=0.1)) as engine,
        pytest.raises(QueryTimeoutError, match="no answer within"),
    ):
        engine.instant("x", 0)


def test_answer_too_large_is_refused(server: Server) -> None:
    server.said = b"x" * 1001
    with (
        contextlib.closing(RemoteEngine(Endpoint(server.url), max_bytes=1000)) as engine,
        pytest.raises(ExecutionError, match="more than 1000 bytes"),
    ):
        engine.instant("x", 0)


def test_peer_that_is_not_there_is_reported_without_its_password() -> None:
    with pytest.raises(BackendUnavailableError, match="refused") as error:
        RemoteEngine(Endpoint("http://me:sesame@127.0.0.1:1")).instant("x", 0)
    assert "sesame" not in str(error.value)


def test_forward_passes_on_what_it_is_given(server: Server, engine: RemoteEngine) -> None:
    server.status, server.said = 418, b"{}"
    answer = asyncio.run(engine.forward("GET", "/api/v1/rules", "type=alert", b"", ""))
    assert answer == (418, "application/json", b"{}")
    assert server.asked == [("GET", "/prometheus/api/v1/rules?type=alert", b"")]


def test_connection_that_went_stale_is_rebuilt(server: Server, engine: RemoteEngine) -> None:
    server.said = success([])
    engine.label_names([], 0, 1)
    for client in engine._idle:
        client.abort()  # as a peer does that closes idle connections
    assert engine.label_names([], 0, 1) == []


def test_many_at_once_share_a_bounded_number_of_connections(server: Server) -> None:
    server.said = success([])
    with contextlib.closing(RemoteEngine(Endpoint(server.url), connections=2)) as engine:

        async def ask() -> list[tuple[int, str, bytes]]:
            return await asyncio.gather(*(engine.forward("GET", "/x", "", b"", "") for _ in range(20)))

        assert {status for status, _, _ in asyncio.run(ask())} == {200}
        assert len(engine._idle) <= 2


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://x", "http://", "http://x:port"])
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL such as|[Pp]ort"):
        RemoteEngine(Endpoint(url))
