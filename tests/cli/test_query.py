"""vigie query: a table, a sparkline, JSON, and errors that say what to type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from bench.programs import free_port
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.server.serving import NOW, Server, listening, series, serving
from vigie.cli import main
from vigie.views.text.sparkline import sparkline

AT = str(NOW / 1000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(Path(tmp_path_factory.mktemp("query"))) as running:
        running.store.append_series(
            [
                series("up", [1.0] * 20, job="node", instance="n1"),
                series("up", [float(i) for i in range(20)], job="node", instance="node-two"),
            ]
        )
        yield running


def asked(server: Server, *arguments: str) -> int:
    return main(["query", *arguments, "--at", AT, "--server", f"http://127.0.0.1:{server.port}"])


def test_instant_answer_is_an_aligned_table(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(server, "up") == 0
    assert capsys.readouterr().out.splitlines() == [
        "metric  instance  job   value",
        "up      n1        node  1",
        "up      node-two  node  19",
    ]
    assert asked(server, "1 + 1") == 0
    assert asked(server, "nothing") == 0
    assert capsys.readouterr().out == "2\nno series\n"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("909.6999999999999", "909.7"),
        ("1 / 3", "0.333333"),
        ("1794868195.037", "1794868195.037"),
        ("123456789012", "123456789012"),
        ("1e-12 / 3", "3.33333e-13"),
        ("-5 / 3", "-1.666667"),
        ("0 / 0", "NaN"),
        ("-1 / 0", "-Inf"),
    ],
)
def test_number_is_told_without_the_digits_that_nobody_reads(
    server: Server, query: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(server, f"vector({query})") == 0
    assert capsys.readouterr().out.splitlines()[1:] == [text]


def test_narrow_table_of_a_range_begins_with_whose_it_is(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    assert asked(server, "up", "--range", "2m") == 0
    assert capsys.readouterr().out.splitlines()[0].split()[0] == "instance"


def test_range_is_a_sparkline_with_its_bounds(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(server, 'up{instance="node-two"}', "--range", "2m", "--step", "15s") == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == ["metric", "instance", "job", "min", "max", "last", "points"]
    assert row.split() == ["up", "node-two", "node", "11", "19", "19", "▁▂▃▄▅▆▇██"]


def test_now_is_by_the_clock_of_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    ends: list[str] = []

    async def moment(request: Request) -> JSONResponse:
        assert "time" not in parse_qs((await request.body()).decode())
        return JSONResponse({"data": {"resultType": "scalar", "result": [7200, "7200"]}})

    async def span(request: Request) -> JSONResponse:
        ends.append(parse_qs((await request.body()).decode())["end"][0])
        return JSONResponse({"data": {"resultType": "matrix", "result": []}})

    routes = [
        Route("/api/v1/query", moment, methods=["POST"]),
        Route("/api/v1/query_range", span, methods=["POST"]),
    ]
    with listening(Starlette(routes=routes)) as port:
        where = f"--server=http://127.0.0.1:{port}"
        assert main(["query", "up", where]) == 0
        assert main(["query", "up", "--range=1h", where]) == 0
    assert ends == ["7200.0"]


def test_json_is_what_the_server_says(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(server, "up", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["data"]["result"]) == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["up{"], "400: "),
        (["up + on(job) up"], "many-to-many"),
    ],
)
def test_error_is_one_plain_line(
    server: Server, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(server, *arguments) == 1
    said = capsys.readouterr().err
    assert why in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--range", "soon"], "--range: invalid duration 'soon': use 30m or 6h"),
        (["--range", "1h", "--step", "0"], "--step: invalid duration '0'"),
        (["--step", "15s"], "--step requires --range, such as --range 1h"),
        (["--at", "yesterday"], "--at: invalid time 'yesterday': use 2026-11-01T12:00:00Z"),
    ],
)
def test_flags_that_make_no_sense_are_bad_usage(
    flags: list[str], why: str, bad_usage: Callable[..., str]
) -> None:
    assert why in bad_usage("query", "up", *flags)


def test_server_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "up", "--server", f"http://127.0.0.1:{free_port()}"]) == 1
    assert "Cannot reach the server" in capsys.readouterr().err
    assert main(["query", "up", "--server", "file:///etc/passwd"]) == 1
    assert "use a URL" in capsys.readouterr().err


def test_sparkline_leaves_out_what_is_no_number() -> None:
    nan, infinity = float("nan"), float("inf")
    assert sparkline([0.0, nan, 7.0, infinity]) == "▁ ██"
    assert sparkline([5.0, 5.0]) == "▁▁"
    assert sparkline([nan]) == " "
