"""Events of the agent: one for each thing that happened, over sources, repeats and restarts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.sources import reading, steady
from vigie.agent.events.state_file import EventStateFile
from vigie.agent.events.tracker import MAX_SERIES, EventTracker
from vigie.agent.link.entries import build_message
from vigie.model import Event, EventChange, Frame, Phase
from vigie.sources.core.host import Host
from vigie.wire.messages import decode, encode

XID = {"pci_bus_id": "00000000:41:00.0", "xid": "79"}
PORT = {"device": "mlx5_0", "port": "1"}


class Agent:
    """An agent with a driver and a log, which may be restarted; what it tells a server is kept."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.told: list[Event] = []
        self.start()

    def start(self) -> None:
        readings = [reading(steady("kernel_log")), reading(steady("nvidia"))]
        self.log, self.driver = (one.host for one in readings)
        self.happenings = EventTracker(readings, [self], EventStateFile(self.path))

    def record_event(self, event: Event) -> None:
        self.told.append(event)

    def tick(self) -> list[Event]:
        self.told.clear()
        self.happenings(Frame(0, ()))
        return list(self.told)

    def counts(self) -> dict[tuple[str, ...], float]:
        table, numbers = self.happenings.table()
        return {labels: value for (_, labels), value in zip(table.series, numbers, strict=True)}


def _say(
    host: Host, kind: str, what: str, where: dict[str, str], time_ms: int, phase: Phase = Phase.ONCE
) -> None:
    host.event_changes.append(EventChange(Event(kind, time_ms, what, where, severity="critical"), phase))


def _xid(host: Host, time_ms: int, **more: str) -> None:
    _say(host, "xid", "XID 79", {**XID, **more}, time_ms)


def test_one_xid_seen_by_two_sources_is_one_event_with_what_both_know() -> None:
    agent = Agent()
    _xid(agent.log, 1000, pid="7")
    _xid(agent.driver, 1900, gpu="3")
    first, again = agent.tick()
    assert first.begin_ms == again.begin_ms
    assert first.what == again.what
    assert again.where == {**XID, "pid": "7", "gpu": "3"}
    assert agent.counts() == {("xid",): 1, (XID["pci_bus_id"], "79"): 1}


def test_repeats_are_as_many_as_there_were_even_in_one_moment() -> None:
    agent = Agent()
    for host in (agent.log, agent.driver):
        for _ in range(3):
            _xid(host, 1000)
    assert len({event.begin_ms for event in agent.tick()}) == 3
    assert agent.counts()[(XID["pci_bus_id"], "79")] == 3


def test_the_same_xid_a_day_later_is_another() -> None:
    agent = Agent()
    _xid(agent.log, 1000)
    _xid(agent.driver, 86_400_000)
    assert len({event.begin_ms for event in agent.tick()}) == 2


def test_two_cards_that_fail_at_one_moment_differ_in_what_a_server_knows_them_by() -> None:
    agent = Agent()
    for card in ("00000000:41:00.0", "00000000:42:00.0"):
        agent.log.report_event("gpu_off_bus", "the GPU has fallen off the bus", time_ms=5, pci_bus_id=card)
    first, second = agent.tick()
    assert (first.kind, first.begin_ms) == (second.kind, second.begin_ms)
    assert first.what != second.what


def test_a_state_is_told_when_it_begins_and_when_it_ends() -> None:
    agent = Agent()
    for _ in range(3):
        _say(agent.log, "link_down", "no link", PORT, 1000, Phase.BEGINS)
    (begun,) = agent.tick()
    assert begun.end_ms is None
    _say(agent.log, "link_down", "", PORT, 4000, Phase.ENDS)
    _say(agent.log, "link_down", "", PORT, 5000, Phase.ENDS)
    assert agent.tick() == [begun._replace(end_ms=4000)]
    assert agent.counts() == {("link_down",): 1}


def test_an_end_without_a_begin_is_no_news() -> None:
    agent = Agent()
    _say(agent.log, "link_down", "", PORT, 1, Phase.ENDS)
    assert agent.tick() == []


def test_a_restart_repeats_no_state_and_recovery_still_closes_it(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "data" / "memory.json")
    _say(agent.log, "link_down", "no link", PORT, 1000, Phase.BEGINS)
    agent.log.persistent["sequence"] = "42"
    (begun,) = agent.tick()
    agent.start()
    assert agent.log.persistent == {"sequence": "42"}
    assert agent.driver.persistent == {}
    _say(agent.log, "link_down", "no link", PORT, 9000, Phase.BEGINS)
    assert agent.tick() == []
    _say(agent.log, "link_down", "", PORT, 9500, Phase.ENDS)
    assert agent.tick() == [begun._replace(end_ms=9500)]


def test_a_spoiled_memory_is_as_none(tmp_path: Path) -> None:
    for text in (
        "",
        "{}",
        "[1]",
        '{"sources": {"kernel_log": 3}, "open": []}',
        '{"sources": {}, "open": [{}]}',
    ):
        (tmp_path / "memory.json").write_text(text)
        agent = Agent(tmp_path / "memory.json")
        assert agent.log.persistent == {}


@given(st.binary(max_size=200))
def test_whatever_the_memory_holds_the_agent_starts(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "memory.json"
        path.write_bytes(data)
        Agent(path).tick()


def test_a_memory_that_cannot_be_written_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    agent = Agent(tmp_path / "file" / "memory.json")
    _xid(agent.log, 1000)
    assert len(agent.tick()) == 1


def test_memory_is_for_its_owner_and_written_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    agent = Agent(path)
    agent.log.persistent["sequence"] = "1"
    agent.tick()
    before = path.stat()
    agent.tick()
    assert path.stat().st_ino == before.st_ino
    assert before.st_mode & 0o777 == 0o600


def test_words_of_any_length_fit_into_a_message() -> None:
    agent = Agent()
    _say(agent.log, "x" * 999, "y" * 9999, {f"w{number}": "z\udcff" * 999 for number in range(99)}, 1)
    (event,) = agent.tick()
    assert decode(encode(build_message(event, 1, {}))) is not None


def test_what_a_terminal_would_obey_does_not_reach_one() -> None:
    agent = Agent()
    _say(agent.log, "oom_kill", "ended \x1b[2J\r\n", {"comm": "\x1b]0;x\x07"}, 1)
    (event,) = agent.tick()
    assert event.what.isprintable()
    assert event.where["comm"].isprintable()


def test_log_tells_where_it_was_if_that_is_known(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent()
    with caplog.at_level("INFO"):
        agent.log.report_event("gpus_released", "released by root", time_ms=1)
        agent.log.report_event("oom_kill", "killed", time_ms=1, comm="train")
        agent.tick()
    assert caplog.messages == ["gpus_released: released by root", "oom_kill: killed (comm train)"]


def test_counts_are_bounded() -> None:
    agent = Agent()
    for number in range(MAX_SERIES + 50):
        agent.log.report_event("xid", "text", time_ms=1, pci_bus_id=str(number), xid="1")
        agent.tick()
    assert len(agent.counts()) == MAX_SERIES + 1
