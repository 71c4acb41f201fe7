"""From a line of the kernel's log and a port that goes down to events of a server, over a killed agent."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.programs import free_port

from tests.machines import unpacked
from tests.real.test_up import Up
from tests.real.waiting import until

XID = "4,{},1000000,-;NVRM: Xid (PCI:0000:41:00): 79, pid=1, name=a, GPU has fallen off the bus.\n"


class Node:
    """A machine of files, watched by `vigie up`."""

    def __init__(self, top: Path) -> None:
        machine = unpacked("mi300x", top / "machine")
        self._kmsg = machine / "root/dev/kmsg"
        self._kmsg.parent.mkdir()
        self._kmsg.touch()
        self._state = machine / "sys/class/infiniband/mlx5_0/ports/1/state"
        settings = f"cadence = 1\nsources = ['kernel_log', 'infiniband']\nrootfs = '{machine}/root'\n"
        (top / "vigie.toml").write_text(f"[agent]\n{settings}sysfs = '{machine}/sys'\n")
        self.up = Up(top, free_port(), f"--config={top}/vigie.toml")

    def log(self, sequence: int) -> None:
        with self._kmsg.open("a") as file:
            file.write(XID.format(sequence))

    def port(self, state: str) -> None:
        self._state.write_text(f"{state}\n")

    def events(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.up.ask(f"/api/events?kind={kind}")["events"]
        return found

    def frames(self) -> int:
        asked = self.up.ask("/api/v1/query?query=vigie_agent_frames_total")["data"]["result"]
        return int(asked[0]["value"][1])


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    with contextlib.closing(made.up):
        yield made


def test_repeats_are_two_a_killed_agent_repeats_nothing_and_recovery_closes_a_state(node: Node) -> None:
    until(node.up.up, "up")
    until(lambda: node.frames() >= 2, "the port was seen when it was well")
    node.log(1)
    node.log(2)
    node.port("1: DOWN")
    until(lambda: len(node.events("xid")) == 2, "two XIDs")
    (down,) = until(lambda: node.events("ib_link_down"), "a port that is down")
    assert down["end_ms"] is None
    (agent,) = node.up.agents()
    os.kill(agent, signal.SIGKILL)
    until(lambda: node.up.agents() not in ([], [agent]), "a new agent")
    node.log(3)
    until(lambda: len(node.events("xid")) == 3, "the third XID, and no other again")
    node.port("4: ACTIVE")
    (ended,) = until(
        lambda: [event for event in node.events("ib_link_down") if event["end_ms"] is not None], "its end"
    )
    assert ended["begin_ms"] == down["begin_ms"]
    assert len(node.events("ib_link_down")) == 1
    assert len(node.events("xid")) == 3
    assert node.events("xid")[0]["where"]["pci_bus_id"] == "00000000:41:00.0"
