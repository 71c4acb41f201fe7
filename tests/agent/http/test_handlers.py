from __future__ import annotations

import asyncio
import json
import zlib

import pytest

from tests.agent.sources import failing, reading, steady
from tests.expositions import parse
from vigie.agent.collector import Collector
from vigie.agent.http.handlers import Handlers
from vigie.agent.http.server import Request, Response
from vigie.agent.loop import Loop
from vigie.agent.source_reader import SourceReader
from vigie.simulation.clock import SimulatedClock
from vigie.sources.core.source import Source, Unavailable


class Agent:
    """The pages over a few readings, on a simulated clock."""

    def __init__(self, *sources: Source, token: str | None = None, loopback: bool = True) -> None:
        self.clock = SimulatedClock()
        self.readings: list[SourceReader] = [reading(source, self.clock) for source in sources]
        self.collector = Collector(self.readings)
        loop = Loop(self.collector, self.clock, cadence=10)
        self.pages = Handlers("n1", self.collector, loop, self.clock, token=token, loopback=loopback)

    def get(self, path: str, query: str = "", **headers: str) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(self.pages.answer(Request(path, query, named)))


def test_scrape_reads_the_quick_sources_unless_just_read() -> None:
    agent = Agent(steady("quick"), steady("slow", slow=True))
    quick, slow = agent.readings
    agent.get("/metrics")
    first = quick.read_at
    assert slow.read_at == float("-inf")
    asyncio.run(agent.clock.sleep(0.5))
    agent.get("/metrics")
    assert quick.read_at == first
    asyncio.run(agent.clock.sleep(0.6))
    agent.get("/metrics")
    assert quick.read_at > first


def test_fresh_reads_the_slow_sources_too() -> None:
    agent = Agent(steady("slow", slow=True))
    agent.get("/metrics", "fresh")
    assert agent.readings[0].values.numbers == (1.0,)


def test_metrics_tell_success_cost_and_age_of_each_source() -> None:
    agent = Agent(steady("good"), failing("bad", ValueError()), failing("gone", Unavailable("no card")))
    said = parse(agent.get("/metrics").body.decode())
    assert said.values["node_scrape_collector_success", frozenset({("collector", "good")})] == 1
    assert said.values["node_scrape_collector_success", frozenset({("collector", "bad")})] == 0
    assert said.values["node_scrape_collector_success", frozenset({("collector", "gone")})] == 0
    assert said.values["vigie_agent_read_errors_total", frozenset()] == 1
    assert said.values["process_resident_memory_bytes", frozenset()] > 1e6
    assert said.values["process_open_fds", frozenset()] >= 3
    assert said.values["vigie_test_value", frozenset({("source", "good")})] == 1


def test_source_that_was_never_read_has_no_age_and_no_success() -> None:
    agent = Agent(steady("quick"), steady("slow", slow=True))
    series = [
        ("vigie_agent_source_age_seconds", frozenset({("source", "slow")})),
        ("node_scrape_collector_success", frozenset({("collector", "slow")})),
        ("node_scrape_collector_duration_seconds", frozenset({("collector", "slow")})),
    ]
    said = parse(agent.get("/metrics").body.decode())
    assert not any(each in said.values for each in series)
    said = parse(agent.get("/metrics", "fresh").body.decode())
    assert all(each in said.values for each in series)


def test_format_and_encoding_follow_the_headers() -> None:
    agent = Agent(steady("a"))
    plain = agent.get("/metrics")
    assert plain.content_type.startswith("text/plain; version=0.0.4")
    accept = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
    packed = agent.get("/metrics", accept=accept, accept_encoding="gzip")
    assert packed.content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert ("Content-Encoding", "gzip") in packed.headers
    assert zlib.decompress(packed.body, 31).endswith(b"# EOF\n")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:9797", 200),
        ("localhost", 200),
        ("[::1]:9797", 200),
        ("evil.example", 403),
        ("127.0.0.1.x:80", 403),
    ],
)
def test_loopback_agent_answers_to_its_own_names_only(host: str, status: int) -> None:
    assert Agent(steady("a")).get("/metrics", host=host).status == status


@pytest.mark.parametrize("path", ["/", "/metrics", "/status", "/nothing"])
def test_beyond_loopback_everything_but_health_wants_the_token(path: str) -> None:
    agent = Agent(steady("a"), token="secret", loopback=False)
    assert agent.get(path).status == 401
    assert agent.get(path, authorization="Bearer wrong").status == 401
    assert agent.get(path, authorization="Bearer secret").status == (404 if path == "/nothing" else 200)
    assert agent.get("/healthz").status == 200


def test_status_gives_state_reason_cost_and_age() -> None:
    agent = Agent(steady("good"), failing("gone", Unavailable("no card")), steady("slow", slow=True))
    agent.get("/metrics")
    asyncio.run(agent.clock.sleep(3))
    sources = json.loads(agent.get("/status").body)["sources"]
    assert sources["good"]["state"] == "ok"
    assert sources["good"]["age_seconds"] == 3
    assert sources["good"]["duration_seconds"] >= 0
    assert (sources["gone"]["state"], sources["gone"]["reason"]) == ("unavailable", "no card")
    assert (sources["slow"]["state"], sources["slow"]["age_seconds"]) == ("not read yet", None)
