"""Beside Prometheus 2.42 with the same samples: the same answers to a few thousand generated queries."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import promql_parser
import pytest
from bench.programs import free_port, running

from tests.query.datasets import BASE, INTERVAL, SAMPLES, batches, fill, memory_storage, targets
from tests.query.generator import Generator
from tests.query.parser.test_error_positions import PLACES
from tests.real.conftest import need
from vigie.query.engine import Engine, QueryResult
from vigie.query.errors import QueryError
from vigie.query.limits import QueryLimits
from vigie.query.parser.grammar import nodes
from vigie.query.parser.parse import parse
from vigie.query.semantics import Semantics
from vigie.store.store import Store
from vigie.wire.remote_write.write_request import Series, compress, encode

SEED = int(os.environ.get("VIGIE_PROMQL_SEED", "1"))
QUERIES = 1500  # for each set of samples, each asked at one time and over a range
CLOSE = 1e-9
ODD_QUERIES = Path(__file__).parents[1] / "query" / "odd_queries.txt"  # one a line; ␤ stands for a line's end


class Said(NamedTuple):
    """An answer or an error, in the form in which the two engines are compared."""

    status: int
    kind: str
    series: list[tuple[frozenset[tuple[str, str]], dict[int, float]]]


class Peer:
    """A running Prometheus."""

    def __init__(self, port: int) -> None:
        self._client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self) -> None:
        self._client.close()

    def wait(self) -> None:
        """Return when it has read its blocks; until then it answers at once that it is not ready."""
        for _ in range(600):
            self._client.request("GET", "/-/ready")
            response = self._client.getresponse()
            response.read()
            if response.status == 200:
                return
            time.sleep(0.05)
        raise RuntimeError("Prometheus does not become ready")

    def write(self, series: Iterable[Series]) -> None:
        """Send samples by remote write, the only way that takes marks of the end."""
        headers = {
            "Content-Encoding": "snappy",
            "Content-Type": "application/x-protobuf",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
        }
        self._client.request("POST", "/api/v1/write", compress(encode(series)), headers)
        response = self._client.getresponse()
        said = response.read()
        assert response.status == 204, said

    def ask(self, path: str, **parameters: object) -> Said:
        """Return what it says."""
        status, body = self._get(path, **parameters)
        if body["status"] == "error":
            return Said(status, body["errorType"], [])
        return Said(200, body["data"]["resultType"], _series(body["data"]))

    def error(self, query: str) -> str:
        """Return its words for what is wrong with a query."""
        _, body = self._get("query", query=query)
        return str(body["error"])

    def _get(self, path: str, **parameters: object) -> tuple[int, dict[str, Any]]:
        self._client.request("GET", f"/api/v1/{path}?{urlencode(parameters)}")
        response = self._client.getresponse()
        return response.status, json.loads(response.read())


def _series(data: dict[str, Any]) -> list[tuple[frozenset[tuple[str, str]], dict[int, float]]]:
    if data["resultType"] == "string":
        return []
    if data["resultType"] == "scalar":
        return [(frozenset(), _points([data["result"]]))]
    return [
        (frozenset(each["metric"].items()), _points(each.get("values") or [each["value"]]))
        for each in data["result"]
    ]


def _points(pairs: list[tuple[float, str]]) -> dict[int, float]:
    return {round(moment * 1000): float(value) for moment, value in pairs}


def _ours(answer: QueryResult) -> Said:
    series = [
        (frozenset(labels.items()), dict(zip(times.tolist(), values.tolist(), strict=True)))
        for labels, times, values in answer.series
    ]
    return Said(200, answer.kind, series)


class Question(NamedTuple):
    """A query and when it is asked; without a step, at its end only."""

    text: str
    start: int
    end: int
    step: int

    def of_peer(self, peer: Peer) -> Said:
        if not self.step:
            return peer.ask("query", query=self.text, time=self.end / 1000)
        return peer.ask(
            "query_range",
            query=self.text,
            start=self.start / 1000,
            end=self.end / 1000,
            step=self.step / 1000,
        )

    def of_engine(self, engine: Engine) -> Said:
        try:
            if not self.step:
                return _ours(engine.instant(self.text, self.end))
            return _ours(engine.range(self.text, self.start, self.end, self.step))
        except QueryError as error:
            return Said(error.status, error.kind, [])


class Sides(NamedTuple):
    """A Prometheus, and engines over stores with the same samples."""

    peer: Peer
    engines: dict[str, Engine]
    on_boundaries: bool


@pytest.fixture(scope="module", params=[False, True], ids=["off boundaries", "on boundaries"])
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """Yield both sides with the same samples."""
    folder = tmp_path_factory.mktemp("promql")
    data = targets(random.Random(SEED), on_boundaries=request.param)
    semantics = Semantics.PROMETHEUS_2 if request.param else Semantics.PROMETHEUS_3
    port = free_port()
    with (
        running(prometheus_line(folder, port), port, "/"),
        contextlib.closing(Peer(port)) as peer,
        Store(folder / "ours") as store,
    ):
        peer.wait()
        for batch in batches(data):
            peer.write(batch)
        fill(store, data)
        engines = {
            "memory": Engine(memory_storage(data), QueryLimits(), semantics),
            "store": Engine(store, QueryLimits(), semantics),
        }
        yield Sides(peer, engines, request.param)


def prometheus_line(folder: Path, port: int) -> list[str]:
    (folder / "prometheus.yml").write_text("")
    return [
        need("prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={folder}/data",
        "--storage.tsdb.retention.time=100y",
        "--query.max-samples=500000000",
        "--web.enable-remote-write-receiver",
        f"--web.listen-address=127.0.0.1:{port}",
    ]


def test_generated_queries_get_the_answers_of_prometheus(sides: Sides) -> None:
    peer, engines, on_boundaries = sides
    print(f"VIGIE_PROMQL_SEED={SEED}")
    chance = random.Random(SEED)
    generator = Generator(SEED, nested_subqueries=on_boundaries)
    tally = Counter[str]()
    wrong = []
    for _ in range(QUERIES):
        text = generator.query()
        tally["nested"] += _operators(text) >= 2
        for question in _questions(chance, text, on_boundaries):
            theirs = question.of_peer(peer)
            tally["asked"] += 1
            tally["empty"] += theirs.status == 200 and not theirs.series and theirs.kind != "string"
            tally["refused"] += theirs.status != 200
            for name, engine in engines.items():
                wrong_by = difference(question, theirs, question.of_engine(engine), engine)
                if wrong_by:
                    wrong.append(f"{name}: {question}: {wrong_by}")
    print(dict(tally))
    assert wrong[:10] == [], f"{len(wrong)} of {tally['asked']} differ, seed {SEED}"
    assert tally["nested"] >= 0.3 * QUERIES
    assert tally["empty"] < 0.2 * tally["asked"]


def _odd_queries() -> list[str]:
    """Return queries at the edges of PromQL, which 2.42 answers or refuses as we do."""
    lines = ODD_QUERIES.read_text(encoding="utf-8").rstrip("\n").split("\n")
    return [line.replace("␤", "\n") for line in lines]


# Off boundaries we follow Prometheus 3, whose rates near zero and beginnings of subqueries differ.
@pytest.mark.parametrize("sides", [True], indirect=True, ids=["on boundaries"])
def test_odd_queries_get_the_answers_of_prometheus(sides: Sides) -> None:
    wrong = []
    for query in _odd_queries():
        for question in _questions(random.Random(3), query, sides.on_boundaries):
            theirs = question.of_peer(sides.peer)
            for name, engine in sides.engines.items():
                wrong_by = difference(question, theirs, question.of_engine(engine), engine)
                if wrong_by:
                    wrong.append(f"{name}: {question}: {wrong_by}")
    assert wrong == []


@pytest.mark.parametrize(
    "query",
    [
        " + ".join(["1"] * 1000),
        " + ".join(["small", *["level"] * 200]),
        " - on (instance, device) ".join(["level * 2 ^ 2"] * 150),
        f"sum by (job) ({' or '.join(['level > 500'] * 150)})",
        " unless on (instance) ".join(["level", *["wild"] * 150]),
        f"max_over_time(({' / '.join(['level'] * 120)})[5m:30s])",
        " > ".join(["1"] * 150),
    ],
    ids=lambda query: query[:30],
)
def test_long_queries_get_the_answers_of_prometheus(sides: Sides, query: str) -> None:
    for question in _questions(random.Random(1), query, sides.on_boundaries):
        theirs = question.of_peer(sides.peer)
        for engine in sides.engines.values():
            assert difference(question, theirs, question.of_engine(engine), engine) == ""


@pytest.mark.parametrize("query", PLACES)
def test_errors_stand_where_prometheus_says(sides: Sides, query: str) -> None:
    said = sides.peer.error(query)
    assert said.startswith(f'invalid parameter "query": {PLACES[query]}: parse error: '), said


def _operators(text: str) -> int:
    """Return how many operators, aggregations and functions a query nests or joins."""
    counted = (
        promql_parser.Call,
        promql_parser.AggregateExpr,
        promql_parser.BinaryExpr,
        promql_parser.UnaryExpr,
    )
    found: list[promql_parser.Expr] = []
    try:
        promql_parser.walk(promql_parser.parse(text), found.append)
    except ValueError:
        return 0
    return sum(isinstance(node, counted) for node in found)


def _questions(chance: random.Random, text: str, on_boundaries: bool) -> list[Question]:
    """Return the query asked at one time and over a range, at times that do or do not meet the samples."""
    off = 0 if on_boundaries else 500
    begin = BASE - BASE % INTERVAL + 5 * 60_000 + off
    moment = begin + 15_000 * chance.randrange(SAMPLES - 24)
    step = chance.choice([15_000, 60_000, 47_000])
    return [Question(text, moment, moment, 0), Question(text, begin, begin + 45 * 60_000, step)]


def difference(question: Question, theirs: Said, ours: Said, engine: Engine) -> str:
    """Return in what two answers differ, or nothing."""
    if (theirs.status, theirs.kind) != (ours.status, ours.kind):
        return f"{theirs.status} {theirs.kind} became {ours.status} {ours.kind}"
    ordered = question.text.startswith(("sort", "topk(", "bottomk("))
    if ordered and [labels for labels, _ in theirs.series] != [labels for labels, _ in ours.series]:
        return "another order"
    expected, found = dict(theirs.series), dict(ours.series)
    if expected.keys() != found.keys():
        return f"missing {expected.keys() - found.keys()}, extra {found.keys() - expected.keys()}"
    odd = ""
    for labels, points in expected.items():
        if points.keys() != found[labels].keys():
            return f"{set(labels)} has other times"
        pairs = [(points[moment], found[labels][moment]) for moment in points]
        for one, other in pairs:
            if not _close(one, other, 0.0):
                odd = odd or f"{set(labels)} {one} became {other}"
    if odd and not _close_to_operands(question, theirs, ours, engine):
        return odd
    return ""


def _close(one: float, other: float, scale: float) -> bool:
    if math.isnan(one) or math.isnan(other) or math.isinf(one) or math.isinf(other):
        return one == other or (math.isnan(one) and math.isnan(other))
    return abs(one - other) <= CLOSE * max(abs(one), abs(other), scale)


Labelled = tuple[frozenset[tuple[str, str]], dict[int, float]]


def _close_to_operands(question: Question, theirs: Said, ours: Said, engine: Engine) -> bool:
    """Tell whether the answers agree within the precision of the largest number they were made of.

    That is, for each series at each step, the largest result of any part of the query, or sample of its
    ranges, that belongs to the series: none of its labels has another value there.
    """
    operands = _operands(question, engine)
    found = dict(ours.series)
    renames = "label_" in question.text  # then the labels do not tell what belongs together
    for labels, points in theirs.series:
        known = {} if renames else dict(labels)
        scales: dict[int, float] = {}
        for operand, values in operands:
            if all(name == "__name__" or known.get(name, value) == value for name, value in operand):
                for moment in points.keys() & values.keys():
                    scales[moment] = max(values[moment], scales.get(moment, 0.0))
        if not all(_close(points[at], found[labels][at], scales.get(at, 0.0)) for at in points):
            return False
    return True


def _operands(question: Question, engine: Engine) -> list[Labelled]:
    """Return the finite sizes of every part's results."""
    sizes: list[Labelled] = []
    for node in nodes(parse(question.text)):
        texts = [node.prettify()]
        if isinstance(node, promql_parser.MatrixSelector | promql_parser.SubqueryExpr):
            texts = [f"max_over_time({texts[0]})", f"min_over_time({texts[0]})"]
        for text in texts:
            for labels, points in question._replace(text=text).of_engine(engine).series:
                sizes.append((labels, {at: abs(v) for at, v in points.items() if math.isfinite(v)}))
    return sizes
