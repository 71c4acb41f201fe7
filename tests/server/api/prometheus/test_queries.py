"""Questions and answers over HTTP, in Prometheus's form."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.server.serving import NOW, Server, series, serving
from vigie.query.limits import QueryLimits

AT = NOW / 1000


def test_query_by_get_and_by_form_says_the_same(server: Server) -> None:
    said = server.get("query", query="1+1", time=AT)
    assert said.json == {"status": "success", "data": {"resultType": "scalar", "result": [AT, "2"]}}
    assert server.post("query", query="1+1", time=AT).body == said.body
    assert said.headers["content-type"] == "application/json"


def test_vector_matrix_and_text_have_their_shapes(server: Server) -> None:
    vector = server.get("query", query="up == 1", time=AT).data
    labels = {"__name__": "up", "instance": "n1", "job": "node"}
    assert vector == {"resultType": "vector", "result": [{"metric": labels, "value": [AT, "1"]}]}
    raw = server.get("query", query='up{instance="n1"}[31s]', time=AT).data
    times = [AT - 30, AT - 15, AT]
    assert raw["result"] == [{"metric": labels, "values": [[time, "1"] for time in times]}]
    assert server.get("query", query='"a"', time=AT).data == {"resultType": "string", "result": [AT, "a"]}


def test_range_query_gives_every_step(server: Server) -> None:
    found = server.get("query_range", query="sum(up)", start=AT - 60, end=AT, step="30s").data
    assert found == {
        "resultType": "matrix",
        "result": [{"metric": {}, "values": [[AT - 60, "1"], [AT - 30, "1"], [AT, "1"]]}],
    }


def test_odd_numbers_are_spelled_as_go_spells_them(server: Server) -> None:
    found = server.get("query", query="odd[10m]", time=AT).data["result"][0]["values"]
    assert [value for _, value in found] == ["1e+21", "1e-07", "NaN", "+Inf", "0.5"]
    assert server.get("query", query="1e21", time=AT).data["result"][1] == "1" + "0" * 21


@pytest.mark.parametrize(
    ("path", "parameters", "status", "kind", "text"),
    [
        ("query", {"query": "up{"}, 400, "bad_data", 'invalid parameter "query": '),
        ("query", {"query": "up", "time": "x"}, 400, "bad_data", 'cannot parse "x" to a valid timestamp'),
        ("query", {"query": "up", "timeout": "x"}, 400, "bad_data", 'invalid parameter "timeout"'),
        ("query", {"query": "up", "limit": "x"}, 400, "bad_data", 'invalid parameter "limit"'),
        ("query", {"query": "up + on(job) up", "time": AT}, 422, "execution", "many-to-many"),
        ("query_range", {"query": "up"}, 400, "bad_data", 'invalid parameter "start"'),
        ("query_range", {"query": "up", "start": 2, "end": 1, "step": 1}, 400, "bad_data", '"end"'),
        ("query_range", {"query": "up", "start": 0, "end": 1, "step": 0}, 400, "bad_data", '"step"'),
        ("query_range", {"query": "up", "start": 0, "end": 11001, "step": 1}, 400, "bad_data", "11,000"),
        ("series", {}, 400, "bad_data", "no match[] parameter provided"),
        ("series", {"match[]": "{}"}, 400, "bad_data", 'invalid parameter "match[]"'),
        ("labels", {"match[]": 'a{b=~".*"}', "start": "y"}, 400, "bad_data", 'invalid parameter "start"'),
        ("query_exemplars", {"query": "up{", "start": 1, "end": 2}, 400, "bad_data", "parse error"),
        ("rules", {"type": "odd"}, 400, "bad_data", "not supported"),
    ],
)
def test_bad_question_gets_prometheus_error(
    server: Server, path: str, parameters: dict[str, Any], status: int, kind: str, text: str
) -> None:
    said = server.get(path, **parameters)
    assert (said.status, said.json["status"], said.json["errorType"]) == (status, "error", kind)
    assert text in said.json["error"]


def test_labels_and_series_are_looked_up_by_match_time_and_limit(server: Server) -> None:
    assert server.get("labels").data == ["__name__", "cpu", "instance", "job"]
    assert server.get("labels", **{"match[]": "up"}).data == ["__name__", "instance", "job"]
    assert server.post("label/instance/values").status == 405
    assert server.get("label/instance/values", **{"match[]": ["up", "odd"]}).data == ["n1", "n2"]
    assert server.get("label/U______name____/values", **{"match[]": "odd"}).data == ["odd"]
    assert server.get("label/nothing/values").data == []
    assert server.get("label/no%0Athing/values").data == []
    assert server.get("label/instance/values", end=AT - 86_400).data == []
    found = server.post("series", **{"match[]": ["up", 'up{instance="n1"}'], "start": AT - 60, "end": AT})
    assert [labels["instance"] for labels in found.data] == ["n1", "n2"]
    few = server.get("series", **{"match[]": "up", "limit": 1}).json
    assert (len(few["data"]), few["warnings"]) == (1, ["results truncated due to limit"])


def test_parameters_of_a_query_are_honoured(server: Server) -> None:
    stats = server.get("query", query="up", time=AT, stats="all").data["stats"]
    assert stats["samples"]["totalQueryableSamples"] >= 2
    assert stats["timings"]["evalTotalTime"] > 0
    assert len(server.get("query", query="up", time=AT + 20, lookback_delta="30s").data["result"]) == 2
    assert server.get("query", query="up", time=AT + 20, lookback_delta="10s").data["result"] == []
    few = server.get("query", query="up", time=AT, limit=1).json
    assert (len(few["data"]["result"]), few["warnings"]) == (1, ["results truncated due to limit"])
    late = server.get("query", query="up", time=AT, timeout="0s")
    assert (late.status, late.json["errorType"]) == (503, "timeout")


def test_large_answer_is_compressed_when_asked_for(server: Server) -> None:
    query = {"query": "vector(time())", "start": AT - 3600, "end": AT, "step": 1}
    plain = server.get("query_range", **query)
    packed = server.get("query_range", {"Accept-Encoding": "gzip"}, **query)
    assert packed.body == plain.body
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.body) / 4
    assert "content-encoding" not in server.get("query", {"Accept-Encoding": "gzip"}, query="1").headers


def test_query_can_be_formatted(server: Server) -> None:
    assert server.get("format_query", query="sum  by(a)(up)").data == "sum by (a) (up)"


@pytest.mark.parametrize(
    "query",
    [
        "((((((" * 2000,
        "-" * 5000 + "1",
        "sum(" * 300 + "up" + ")" * 300,
        'up{instance=~"' + "(a*)*" * 2000 + 'b"}',
        "up[1y:1ms]",
        "rate(up[100y:1s])",
        'label_replace(up, "a", "$1", "b", "((a+)+)+$")',
        "x" * 50_000,
    ],
)
def test_hostile_query_meets_a_limit_and_the_server_goes_on(server: Server, query: str) -> None:
    said = server.post("query", query=query, time=AT, timeout="5s")
    assert said.status in (200, 400, 422, 503)
    assert server.get("query", query="1").status == 200


def test_limit_on_samples_gives_prometheus_error(tmp_path: Path) -> None:
    with serving(tmp_path, QueryLimits(samples=10)) as small:
        small.store.append_series([series("up", [1.0] * 20)])
        said = small.get("query", query="up[1h]", time=AT)
        assert (said.status, said.json["errorType"]) == (422, "execution")
        assert "too many samples" in said.json["error"]


def test_head_without_end_is_cut_off(server: Server) -> None:
    assert server.ask("GET", "/api/v1/query?query=" + "1" * 200_000).status == 400
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as client:
        client.putrequest("GET", "/healthz")
        for place in range(40):
            client.putheader(f"x-{place}", "y" * 8000)
        with contextlib.suppress(OSError):  # it hangs up as soon as it has had enough
            client.endheaders()
            assert client.getresponse().status == 400


def test_form_that_is_too_large_is_refused(server: Server) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    said = server.ask("POST", "/api/v1/query", b"query=" + b"1" * (11 << 20), kind)
    assert (said.status, said.json["errorType"]) == (400, "bad_data")


def test_client_that_leaves_takes_its_question_along(server: Server) -> None:
    server.readers.cancelled.clear()
    with server.store._lock, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /api/v1/query?query=up HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.shutdown(socket.SHUT_RDWR)
        client.close()
        assert server.readers.cancelled.wait(60)


def test_answer_is_json_whatever_the_labels(tmp_path: Path) -> None:
    with serving(tmp_path) as odd:
        odd.store.append_series([series("a", [1.0], text='q"\\\n\u2028é')])
        found = odd.get("query", query="a", time=AT).data["result"][0]["metric"]["text"]
        assert found == 'q"\\\n\u2028é'
        assert json.loads(odd.get("label/text/values").body)["data"] == [found]
