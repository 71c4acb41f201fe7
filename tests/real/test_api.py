"""Beside Prometheus 2.42 with the same samples: the same requests get the same statuses and answers."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from bench.programs import free_port, running

from tests.real.conftest import need
from tests.server.serving import NOW, TOKEN, Said, Server, request_of, series, serving
from vigie.model.nan import NAN, STALE
from vigie.server.api.prometheus.queries import now_ms

AT = NOW / 1000 + 1  # off every boundary, where 2.42 and 3 count a sample at the start of a range differently
SERIES = [
    *(series("up", [1.0] * 40, job="node", instance=f"n{number}") for number in range(3)),
    *(
        series(
            "work_total", [float(i * 15 + cpu) for i in range(40)], job="node", instance="n0", cpu=str(cpu)
        )
        for cpu in range(2)
    ),
    series("odd", [1e21, 1e-7, NAN, float("inf"), -0.0, 1e20, 123456.789, -1e-6, 5e-324], job="odd"),
    series("ended", [1.0, 2.0, STALE], job="odd"),
    *(series("took_bucket", [n * 3.0] * 40, job="node", le=le) for n, le in enumerate(("0.1", "1", "+Inf"))),
]
Request = tuple[str, dict[str, Any]]
RANGE = {"start": AT - 300, "end": AT, "step": "15"}
REQUESTS: list[Request] = [
    *(
        ("query", {"query": query, "time": AT})
        for query in (
            "1+1", '"text"', "up", "up == 0", "odd", "odd[10m]", "ended", "ended[5m]", "sum by (job) (up)",
            "rate(work_total[2m])", "work_total[32s]", "topk(1, work_total)", "sort_desc(work_total)",
            "histogram_quantile(0.9, took_bucket)", "time()", "vector(1e-9)", "-up", "up * on(instance) up",
            "up + on(job) up", "label_replace(up, 'a', '$1', 'instance', 'n(.)')", "nothing", "up{", "up[5m",
            "sum(up", "rate(up)", "foo(up)", 'up{job=~"("}', "up offset", "1 / 0", "-1 % 0", "",
            'absent(nothing{a="b"})', "up[5m] + 1", "{}", '{job=~".*"}', "1e21", "0.1 + 0.2", "1e-9",
            "123456789012345680", "count_values('v', up)",
        )
    ),
    ("query", {"query": "up", "time": "x"}),
    ("query", {"query": "up", "time": "2023-11-14T22:13:21Z"}),
    ("query", {"query": "up", "time": "2023-11-14T22:13:21.5+00:00"}),
    ("query", {"query": "up", "time": AT, "timeout": "x"}),
    ("query", {"query": "up", "time": AT, "timeout": "10s"}),
    ("query", {}),
    *(
        ("query_range", {"query": query, **RANGE})
        for query in ("up", "sum(rate(work_total[1m]))", "odd", "ended", "1", "up[1m]", '"text"', "no", "up{")
    ),
    ("query_range", {"query": "up"}),
    ("query_range", {"query": "up", **RANGE, "step": "0"}),
    ("query_range", {"query": "up", **RANGE, "step": "-1"}),
    ("query_range", {"query": "up", **RANGE, "step": "x"}),
    ("query_range", {"query": "up", **RANGE, "step": "1m"}),
    ("query_range", {"query": "up", **RANGE, "step": "0.01"}),
    ("query_range", {"query": "up", **RANGE, "start": AT + 1}),
    ("query_range", {"query": "up", **RANGE, "end": "x"}),
    ("series", {"match[]": ["up", "odd"]}),
    ("series", {"match[]": 'up{instance="n1"}', "start": AT - 60, "end": AT}),
    ("series", {"match[]": "up", "start": 0, "end": 1}),
    ("series", {"match[]": "up", "start": "x"}),
    ("series", {"match[]": "{}"}),
    ("series", {"match[]": 'up{instance=~".*"}'}),
    ("series", {"match[]": "up{"}),
    ("series", {"match[]": "sum(up)"}),
    ("series", {}),
    ("labels", {}),
    ("labels", {"match[]": "up"}),
    ("labels", {"match[]": ["odd", "took_bucket"], "start": AT - 600, "end": AT}),
    ("labels", {"match[]": "up["}),
    ("labels", {"start": "x"}),
    ("label/instance/values", {}),
    ("label/__name__/values", {"match[]": '{job="odd"}'}),
    ("label/job/values", {"match[]": ["up", "odd"]}),
    ("label/nothing/values", {}),
    ("label/job/values", {"end": "x"}),
    ("label/job/values", {"match[]": "{"}),
    ("query_exemplars", {"query": "up", "start": AT - 60, "end": AT}),
    ("query_exemplars", {"query": "up{", "start": AT - 60, "end": AT}),
    ("query_exemplars", {"query": "up", "start": AT, "end": AT - 60}),
    ("format_query", {"query": "sum  by(a)(up)"}),
    ("format_query", {"query": "sum("}),
    ("targets", {}),
    ("rules", {}),
    ("rules", {"type": "odd"}),
    ("alerts", {}),
    ("metadata", {"limit": "x"}),
    ("nothing", {}),
]  # fmt: skip


@contextlib.contextmanager
def prometheus(home: Path, configuration: str = "") -> Iterator[int]:
    """Run a Prometheus that takes remote write, and give its port."""
    (home / "prometheus.yml").write_text(configuration)
    port = free_port()
    command = [
        need("prometheus"),
        f"--config.file={home}/prometheus.yml",
        f"--storage.tsdb.path={home}/data",
        "--storage.tsdb.retention.time=100y",
        "--web.enable-remote-write-receiver",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with running(command, port, "/"):
        _until(lambda: ask(port, "GET", "/-/ready").status == 200)
        yield port


def ask(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> Said:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as client:
        client.request(method, path, body or None, {name.replace("_", "-"): v for name, v in headers.items()})
        answer = client.getresponse()
        return Said(answer.status, dict(answer.getheaders()), answer.read())


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Server]]:
    """Yield a Prometheus's port and a server of ours, which got the same request."""
    home = tmp_path_factory.mktemp("api")
    body = request_of(*SERIES)
    with prometheus(home) as port, serving(home / "store") as ours:
        headers = {"Content_Type": "application/x-protobuf", "Content_Encoding": "snappy"}
        theirs = ask(
            port, "POST", "/api/v1/write", body, X_Prometheus_Remote_Write_Version="0.1.0", **headers
        )
        assert theirs.status == 204, theirs.body
        assert ours.write(body).status == 204
        yield port, ours


@pytest.mark.parametrize(("path", "parameters"), REQUESTS, ids=lambda part: str(part)[:60])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_same_request_gets_the_status_and_the_answer_of_prometheus(
    sides: tuple[int, Server], method: str, path: str, parameters: dict[str, Any]
) -> None:
    port, ours = sides
    fields = urlencode(parameters, doseq=True)
    where, body, headers = f"/api/v1/{path}?{fields}", b"", {}
    if method == "POST":
        where, body = f"/api/v1/{path}", fields.encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
    theirs = ask(port, method, where, body, **{name.replace("-", "_"): v for name, v in headers.items()})
    said = ours.ask(method, where, body, headers)
    assert said.status == theirs.status, (said.body, theirs.body)
    if theirs.headers.get("Content-Type") == "application/json":
        assert _comparable(said.json) == _comparable(theirs.json)


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    """Return what must be equal: all but the words of an error and an order that nobody promised."""
    document.pop("error", None)
    data = document.get("data")
    if isinstance(data, dict) and data.get("resultType") in ("vector", "matrix"):
        for each in data["result"]:
            for point in each.get("values") or [each["value"]]:
                point[1] = _rounded(point[1])
        data["result"].sort(key=lambda each: json.dumps(each, sort_keys=True))
    if isinstance(data, list):
        data.sort(key=lambda each: json.dumps(each, sort_keys=True))
    return document


def _rounded(text: str) -> str:
    """Return a number without its last digits, in which a sum may differ; others as they are spelled."""
    return text if len(text) < 15 or "e" in text else f"{float(text):.12g}"


def test_real_prometheus_writes_to_us_and_the_values_are_equal(tmp_path: Path) -> None:
    with serving(tmp_path / "store", clock=now_ms) as ours:
        port = free_port()
        configuration = "\n".join(
            [
                "global: {scrape_interval: 1s}",
                "remote_write:",
                f"  - url: http://127.0.0.1:{ours.port}/api/v1/write",
                f"    authorization: {{credentials: {TOKEN}}}",
                "    queue_config: {batch_send_deadline: 200ms}",
                "scrape_configs:",
                "  - job_name: itself",
                "    static_configs: [{targets: ['127.0.0.1:PORT']}]",
            ]
        )
        (tmp_path / "prometheus.yml").write_text(configuration.replace("PORT", str(port)))
        command = [need("prometheus"), f"--config.file={tmp_path}/prometheus.yml"]
        command += [f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address=127.0.0.1:{port}"]
        with running(command, port, "/"):
            _until(lambda: len(_samples(ours.port, "up[1m]")) == 1 and _count(ours.port) >= 4)
            found, theirs = _samples(ours.port, '{job="itself"}[1m]'), _samples(port, '{job="itself"}[2m]')
    assert len(found) > 300
    for labels, points in found.items():
        assert points.items() <= theirs[labels].items()


def _count(port: int) -> int:
    return max(map(len, _samples(port, "up[1m]").values()))


def _samples(port: int, query: str) -> dict[frozenset[tuple[str, str]], dict[float, str]]:
    said = ask(port, "GET", f"/api/v1/query?{urlencode({'query': query})}")
    found: Sequence[Any] = said.data["result"]
    return {frozenset(each["metric"].items()): dict(each["values"]) for each in found}


def _until(holds: Any) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            if holds():
                return
        time.sleep(0.05)
    raise AssertionError("it did not come to pass within 30 s")
