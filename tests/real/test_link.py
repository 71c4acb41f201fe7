"""Three agents in network namespaces without an open port, one server: cut off, killed, and no gap."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.real.conftest import need, output
from tests.real.waiting import until
from vigie.query.engine import Engine
from vigie.server.api.encode import result
from vigie.simulation.memory_storage import MemoryStorage

NODES = ("n1", "n2", "n3")
NET = "198.18.77"  # set aside for tests of networks
METRIC = "node_load1"


class Network:
    """A bridge of ours, and a namespace behind it for each node."""

    def __init__(self) -> None:
        self._bridge = f"vg{os.getpid()}"

    def __enter__(self) -> Network:
        try:
            self._ip("link", "add", self._bridge, "type", "bridge")
        except RuntimeError as error:
            pytest.skip(f"no network of our own can be made here: {error}")
        self._ip("addr", "add", f"{NET}.1/24", "dev", self._bridge)
        self._ip("link", "set", self._bridge, "up")
        for place, node in enumerate(NODES):
            space, wire = self.space(node), self._wire(node)
            self._ip("netns", "add", space)
            self._ip("link", "add", wire, "type", "veth", "peer", "name", "eth0", "netns", space)
            self._ip("link", "set", wire, "master", self._bridge, "up")
            self._ip("-n", space, "addr", "add", f"{NET}.{11 + place}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                self._ip("-n", space, "link", "set", device, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for node in NODES:
            output("ip", "netns", "del", self.space(node))
        output("ip", "link", "del", self._bridge)

    def space(self, node: str) -> str:
        return f"{self._bridge}-{node}"

    def cut(self, node: str) -> None:
        self._ip("link", "set", self._wire(node), "down")

    def mend(self, node: str) -> None:
        self._ip("link", "set", self._wire(node), "up")

    def _wire(self, node: str) -> str:
        return f"{self._bridge}{node}"

    def _ip(self, *words: str) -> None:
        said = output("ip", *words)
        if said.returncode:
            raise RuntimeError(f"ip {' '.join(words)}: {said.stderr.strip()}")


class Programs:
    """A server and its agents, as processes that end with the test."""

    def __init__(self, home: Path, network: Network) -> None:
        self._home, self._network = home, network
        self._agents: dict[str, subprocess.Popen[bytes]] = {}
        with socket.create_server((f"{NET}.1", 0)) as probe:
            self._address = f"{NET}.1:{probe.getsockname()[1]}"
        self._log = (home / "log").open("wb")
        self.start_server()

    def close(self) -> None:
        for process in [*self._agents.values(), self.server]:
            if process.poll() is None:
                process.kill()
            process.wait()
        self._log.close()

    def start_server(self) -> None:
        flags = ("server", f"--listen={self._address}", f"--data={self._home / 'data'}")
        self.server = self._started([], *flags)

    def start_agent(self, node: str) -> None:
        flags = ("--cadence=1", "--sources=loadavg,stat", f"--log-json={self._home / node}.jsonl")
        own = (f"--data={self._home / node}", f"--node={node}", f"--server=http://{self._address}")
        enter = ["ip", "netns", "exec", self._network.space(node)]
        self._agents[node] = self._started(enter, "agent", *flags, *own)

    def stop_agent(self, node: str) -> int:
        self._agents[node].send_signal(signal.SIGTERM)
        return self._agents[node].wait(20)

    def frames(self, node: str) -> dict[int, float]:
        """Return what the agent itself wrote down, by time in ms."""
        lines = (self._home / f"{node}.jsonl").read_text().splitlines(keepends=True)
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        return {round(row["time"] * 1000): row["tables"]["loadavg"][METRIC] for row in rows}

    def stored(self, node: str) -> dict[int, float]:
        """Return what the server has of it."""
        data = self.ask("v1/query", query=f'{METRIC}{{instance="{node}"}}[1h]')["data"]["result"]
        return {round(at * 1000): float(value) for series in data for at, value in series["values"]}

    def ask(self, path: str, **parameters: Any) -> Any:
        token = (self._home / "data" / "server-token").read_text().strip()
        url = f"http://{self._address}/api/{path}?{urlencode(parameters)}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read())

    def states(self) -> dict[str, str]:
        return {node["name"]: node["state"] for node in self.ask("nodes")["nodes"]}

    def _started(self, enter: list[str], *arguments: str) -> subprocess.Popen[bytes]:
        token = self._home / "data" / "join-token"
        secret = {"VIGIE_TOKEN": token.read_text().strip()} if token.exists() else {}
        command = [*enter, sys.executable, "-m", "vigie", *arguments]
        return subprocess.Popen(command, stdout=self._log, stderr=self._log, env={**os.environ, **secret})


@pytest.fixture
def network() -> Iterator[Network]:
    if os.geteuid() != 0:
        pytest.skip("only root can make network namespaces")
    need("ip")
    with Network() as made:
        yield made


@pytest.fixture
def programs(network: Network, tmp_path: Path) -> Iterator[Programs]:
    with contextlib.closing(Programs(tmp_path, network)) as made:
        until((tmp_path / "data" / "join-token").exists, f"a join token; {tmp_path}/log says why")
        yield made


def test_no_frame_is_lost_by_a_cut_and_a_killed_server(network: Network, programs: Programs) -> None:
    for node in NODES:
        programs.start_agent(node)
    until(lambda: _up(programs) == set(NODES), "all nodes are up")
    assert [_open_ports(network.space(node)) for node in NODES] == [[], [], []]

    network.cut("n2")
    more = len(programs.stored("n1")) + 4
    until(lambda: len(programs.stored("n1")) >= more, "the others go on")
    programs.server.send_signal(signal.SIGKILL)
    programs.server.wait()
    missed = len(programs.frames("n3")) + 3
    until(lambda: len(programs.frames("n3")) >= missed, "agents go on without the server")
    programs.start_server()
    network.mend("n2")

    end = {node: max(programs.frames(node)) for node in NODES}
    for node in NODES:
        until(lambda node=node: end[node] in programs.stored(node), f"{node} is there again")  # type: ignore[misc]
    for node in NODES:
        made = {at: value for at, value in programs.frames(node).items() if at <= end[node]}
        assert len(made) > 6
        until(
            lambda node=node, made=made: made.items() <= programs.stored(node).items(),  # type: ignore[misc]
            f"every frame of {node} is stored",
        )
        _same_answers(programs, node, made)

    assert programs.stop_agent("n3") == 0
    until(lambda: programs.states() == {"n1": "up", "n2": "up", "n3": "stopped"}, "the states are told")


def _up(programs: Programs) -> set[str]:
    found = programs.ask("v1/query", query='up{job="node"} == 1')["data"]["result"]
    return {series["metric"]["instance"] for series in found}


def _open_ports(space: str) -> list[str]:
    """Return the addresses beyond loopback on which somebody listens in a namespace."""
    listening = output("ip", "netns", "exec", space, "cat", "/proc/net/tcp", "/proc/net/tcp6").stdout
    rows = [line.split() for line in listening.splitlines() if ":" in line.split()[0]]
    addresses = [row[1] for row in rows if row[3] == "0A"]
    return [address for address in addresses if not address.startswith("0100007F:")]


def _same_answers(programs: Programs, node: str, made: dict[int, float]) -> None:
    """Check that a range query across the cut gives what it gives over a store that saw no cut."""
    whole = MemoryStorage()
    times = sorted(made)
    labels = {"__name__": METRIC, "instance": node, "job": "node"}
    whole.add(labels, times, [made[at] for at in times])
    for query in (METRIC, f"avg_over_time({METRIC}[3s])", f"count_over_time({METRIC}[2s])"):
        asked = query.replace(METRIC, f'{METRIC}{{instance="{node}"}}')
        start, end = times[0] // 1000 + 3, times[-1] // 1000
        answer = programs.ask("v1/query_range", query=asked, start=start, end=end, step=1)
        expected = Engine(whole).range(asked, start * 1000, end * 1000, 1000)
        assert answer["data"] == json.loads(result(expected, end * 1000))["data"]
