"""The Slurm source: asked in one place, within its budget, and honest while the controller is away."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.agent.sources import reading
from tests.real.waiting import until
from tests.workload.slurm.fake import FakeSlurm, SettableClock
from vigie.agent.source_reader import Outcome
from vigie.model import Phase
from vigie.sources.core.host import Host
from vigie.sources.core.source import Unavailable
from vigie.workload.slurm.metrics import CONVENTIONAL
from vigie.workload.slurm.poller import MAX_INTERVAL
from vigie.workload.slurm_controller import SOURCE


@pytest.fixture
def slurm(tmp_path: Path) -> FakeSlurm:
    return FakeSlurm(tmp_path)


def read(host: Host) -> dict[str, float]:
    """Read the source as the agent does, and return its figures without labels."""
    host.bindings.clear()
    host.notes.clear()
    return {metric.name: float(value or 0) for metric, _, value in SOURCE.read(host)}


def settle(host: Host) -> None:
    """Wait for a poll that a read did not wait for."""
    until(lambda: not host.cache["poller"].is_asking, "the poll has ended")


def test_every_conventional_metric_is_given(slurm: FakeSlurm) -> None:
    assert {metric.name for metric in CONVENTIONAL} - read(slurm.host()).keys() == set()


def test_hour_of_reads_by_many_stays_within_the_budget(slurm: FakeSlurm) -> None:
    clock = SettableClock()
    host = slurm.host(clock)
    for second in range(0, 3600, 5):  # far more often than its cadence, as scrapes might
        clock.now = 1_795_000_000.0 + second
        read(host)
        settle(host)
    calls = Counter(slurm.calls())
    assert calls.keys() == {"jobs", "nodes", "partitions", "config", "sdiag", "sshare"}
    assert all(calls[name] <= 60 for name in ("jobs", "nodes", "sdiag"))
    assert all(calls[name] <= 12 for name in ("sshare", "partitions", "config"))
    assert calls["jobs"] > 55


def test_other_machines_ask_nothing_and_say_where_it_is_asked(slurm: FakeSlurm) -> None:
    host = slurm.host(SettableClock("gpu07"))
    with pytest.raises(Unavailable, match="polled on head"):
        read(host)
    assert slurm.calls() == []


def test_machine_without_slurm_says_so(tmp_path: Path) -> None:
    empty = FakeSlurm(tmp_path / "x")
    (tmp_path / "x/etc/slurm/slurm.conf").unlink()
    with pytest.raises(Unavailable, match=r"no slurm\.conf"):
        read(empty.host())


def test_switch_makes_any_machine_ask_or_none(slurm: FakeSlurm) -> None:
    assert read(slurm.host(SettableClock("login1"), poll="always"))["slurm_queue_running"] == 10
    with pytest.raises(Unavailable, match="turned off"):
        read(slurm.host(poll="never"))


def test_backup_asks_only_while_the_primary_is_down(slurm: FakeSlurm) -> None:
    conf = slurm.directory / "etc/slurm/slurm.conf"
    conf.write_text("SlurmctldHost=head(10.0.0.1)\nSlurmctldHost=spare\n")
    clock = SettableClock("spare")
    host = slurm.host(clock)
    slurm.reply("ping", "Slurmctld(primary) at head is UP\nSlurmctld(backup1) at spare is UP\n")
    with pytest.raises(Unavailable, match="polled on head"):
        read(host)
    assert Counter(slurm.calls()) == {"ping": 1}
    slurm.reply("ping", "Slurmctld(primary) at head is DOWN\nSlurmctld(backup1) at spare is UP\n")
    clock.now += 60
    assert read(host)["slurm_queue_running"] == 10


def test_slow_reply_doubles_the_interval_and_quick_ones_bring_it_back(slurm: FakeSlurm) -> None:
    clock = SettableClock()
    host = slurm.host(clock)
    read(host)
    (slurm.directory / "slow-jobs").write_text("2.1")
    clock.now += 60
    read(host)
    settle(host)
    assert read(host)["vigie_slurm_poll_interval_seconds"] == 120
    assert "slow or busy" in host.notes["interval"]
    (slurm.directory / "slow-jobs").unlink()
    clock.now += 110
    read(host)
    assert Counter(slurm.calls())["jobs"] == 2  # not yet
    clock.now += 20
    assert read(host)["vigie_slurm_poll_interval_seconds"] == 60


def test_busy_controller_is_asked_less_often(slurm: FakeSlurm) -> None:
    text = (slurm.directory / "reply-sdiag").read_text()
    slurm.reply("sdiag", text.replace("Server thread count:  1\n", "Server thread count:  200\n"))
    assert read(slurm.host())["vigie_slurm_poll_interval_seconds"] == 120


@pytest.mark.parametrize(
    "reply", ["slurm_load_jobs error: Unable to contact slurm controller", "garbage\n\x01"]
)
def test_last_state_stands_with_its_age_while_the_controller_is_away(slurm: FakeSlurm, reply: str) -> None:
    clock = SettableClock()
    host = slurm.host(clock)
    before = read(host)
    held = list(host.bindings)
    if reply.startswith("slurm"):
        slurm.fail("jobs", reply)
    else:
        slurm.reply("jobs", reply)
    clock.now += 600
    away = read(host)
    assert away["slurm_queue_running"] == before["slurm_queue_running"] == 10
    assert (away["vigie_slurm_up"], away["vigie_slurm_state_age_seconds"]) == (0, 600)
    assert host.bindings == held
    assert "showing its last state" in host.notes["slurmctld"]
    assert Counter(slurm.calls())["nodes"] == 1  # the rest would fail as slowly
    slurm.recover()
    slurm.reply("jobs", "No jobs in the system\n")
    clock.now += MAX_INTERVAL
    back = read(host)
    assert (back["vigie_slurm_up"], back["slurm_queue_running"]) == (1, 0)


def test_controller_away_for_too_long_or_from_the_start_is_an_error(slurm: FakeSlurm) -> None:
    slurm.fail("jobs", "slurm_load_jobs error: Unable to contact slurm controller")
    one = reading(SOURCE)
    one.host = slurm.host()
    one.read()
    assert one.outcome is Outcome.ERROR
    assert "Unable to contact" in one.reason
    slurm.recover()
    clock = SettableClock()
    host = slurm.host(clock)
    read(host)
    slurm.fail("jobs", "down")
    clock.now += 4000
    with pytest.raises(RuntimeError, match="does not reply"):
        read(host)


def test_read_does_not_wait_for_a_controller_that_hangs(slurm: FakeSlurm) -> None:
    (slurm.directory / "slow-jobs").write_text("600")
    host = slurm.host()
    with pytest.raises(Unavailable, match="first reply"):
        read(host)
    assert host.cache["poller"].is_asking


def test_hidden_nodes_leave_the_jobs(slurm: FakeSlurm) -> None:
    slurm.fail("nodes", "slurm_load_node error: Access/permission denied")
    found = read(slurm.host())
    assert (found["slurm_queue_running"], found["slurm_nodes_idle"]) == (10, 0)


def test_private_data_is_said_with_the_line_that_grants_the_right(slurm: FakeSlurm) -> None:
    host = slurm.host()
    read(host)
    poller = host.cache["poller"]
    poller.config = poller.config._replace(private=frozenset(("jobs", "users")), slurm_uid=64030)
    assert poller.hidden_data(1000) == ["jobs"]
    assert poller.hidden_data(0) == poller.hidden_data(64030) == []


def test_drained_nodes_are_events_that_end(slurm: FakeSlurm) -> None:
    clock = SettableClock()
    host = slurm.host(clock)
    read(host)
    begun = [change for change in host.event_changes if change.phase is Phase.BEGINS]
    assert {one.event.where["node"]: one.event.where["reason"] for one in begun} == {
        "n3": "kernel update",
        "n5": "GPU 3 XID 79: fell off the bus",
    }
    host.event_changes.clear()
    text = (slurm.directory / "reply-nodes").read_text()
    slurm.reply("nodes", text.replace("State=MIXED+DRAIN", "State=MIXED"))
    clock.now += 60
    read(host)
    (ended,) = host.event_changes
    assert (ended.phase, ended.key) == (Phase.ENDS, begun[0].key)


def test_restarted_agent_ends_what_is_no_longer_drained(slurm: FakeSlurm) -> None:
    first = slurm.host()
    read(first)
    second = slurm.host()
    second.persistent.update(first.persistent)
    text = (slurm.directory / "reply-nodes").read_text()
    slurm.reply("nodes", text.replace("+DRAIN", ""))
    read(second)
    assert [change.phase for change in second.event_changes] == [Phase.ENDS, Phase.ENDS]
