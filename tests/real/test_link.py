"""Three agents in network namespaces without an open port, one server: cut off, killed, and no gap."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.server.namespaces import METRIC, NODES, Network, Programs

from tests.real.conftest import need, output
from tests.real.waiting import until
from vigie.query.engine import Engine
from vigie.server.api.prometheus.json_encoder import result
from vigie.simulation.memory_storage import MemoryStorage


@pytest.fixture
def network() -> Iterator[Network]:
    if os.geteuid() != 0:
        pytest.skip("only root can make network namespaces")
    need("ip")
    with contextlib.ExitStack() as opened:
        try:
            made = opened.enter_context(Network())
        except RuntimeError as error:
            pytest.skip(f"no network of our own can be made here: {error}")
        yield made


@pytest.fixture
def programs(network: Network, tmp_path: Path) -> Iterator[Programs]:
    with contextlib.closing(Programs(tmp_path, network)) as made:
        until((tmp_path / "data" / "join-token").exists, f"a join token; {tmp_path}/log says why")
        yield made


def test_no_frame_is_lost_by_a_cut_and_a_killed_server(network: Network, programs: Programs) -> None:
    for node in NODES:
        programs.start_agent(node)
    until(lambda: programs.up() == set(NODES), "all nodes are up")
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
    until(lambda: programs.up(0) == {"n3"}, "the one that was stopped is down")


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
    for name, values in {METRIC: [made[at] for at in times], "up": [1.0] * len(times)}.items():
        whole.add({"__name__": name, "instance": node, "job": "node"}, times, values)
    own = f'{{instance="{node}"}}'
    queries = ("{}", "avg_over_time({}[3s])", "count_over_time({}[2s])")
    for query, name in itertools.product(queries, (METRIC, "up")):
        asked = query.replace("{}", name + own)
        start, end = times[0] // 1000 + 3, times[-1] // 1000
        answer = programs.ask("v1/query_range", query=asked, start=start, end=end, step=1)
        expected = Engine(whole).range(asked, start * 1000, end * 1000, 1000)
        assert answer["data"] == json.loads(b"".join(result(expected, end * 1000)))["data"]
