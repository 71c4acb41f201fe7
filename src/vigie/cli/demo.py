"""Start a simulated GPU cluster: hours of history with jobs and incidents, then live."""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
import tempfile
import time
from datetime import datetime
from functools import partial
from pathlib import Path

from vigie.cli import _argument_types
from vigie.cli import server as server_command
from vigie.cli.settings import flags
from vigie.server.api.prometheus.queries import now_ms
from vigie.server.cluster.database import FILE as CLUSTER_FILE
from vigie.server.services import TRACES, ServerConfig
from vigie.simulation.cluster.history import find_head, write_history
from vigie.simulation.cluster.live import LiveNodes
from vigie.simulation.cluster.machines import build_machines
from vigie.simulation.cluster.metrics.server import TARGET
from vigie.simulation.cluster.nodes import SimulatedNode
from vigie.simulation.cluster.scenario import Scenario
from vigie.simulation.cluster.sizing import check_size, choose_rate, default_history
from vigie.simulation.cluster.traces import write_traces

EXAMPLE = """examples:
  vigie demo                                  16 nodes, 6 hours of history, then live
  vigie demo --nodes 1000                     a large one, with less history; some minutes and 2 GB
  vigie demo --truth                          what is wrong in it, as JSON
  vigie demo --now 2026-11-01T12:00:00Z       the same picture each time; the clock stands still"""
ERRORS = server_command.ERRORS
PROGRESS_SECONDS = 5.0
DATA = "server.data"

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nodes", type=_argument_types.whole(5000), default=16, help="number of nodes (default: 16)"
    )
    parser.add_argument(
        "--gpus", type=_argument_types.whole(8), default=8, help="maximum GPUs per node (default: 8)"
    )
    parser.add_argument(
        "--history",
        type=_argument_types.length,
        metavar="DURATION",
        help="length of the history (default: 6h, less for many nodes)",
    )
    parser.add_argument("--seed", type=int, default=1, help="random seed (default: 1)")
    parser.add_argument(
        "--now",
        type=_argument_types.moment,
        metavar="TIME",
        help="freeze the clock at this time",
    )
    parser.add_argument("--truth", action="store_true", help="print every incident as JSON, and exit")
    flags.add_flags(parser, "demo")


def run(arguments: argparse.Namespace) -> int:
    """Make the past, then run until it is stopped."""
    history_ms = arguments.history or default_history(arguments.nodes)
    now = now_ms() if arguments.now is None else arguments.now
    scenario = Scenario(build_machines(arguments.nodes, arguments.gpus), now, arguments.seed)
    if arguments.truth:
        json.dump(truth(scenario), sys.stdout, indent=2)
        print()
        return 0
    with tempfile.TemporaryDirectory(prefix="vigie-demo-") as scratch:
        data = getattr(arguments, DATA) or scratch
        setattr(arguments, DATA, data)
        clean = partial(shutil.rmtree, scratch, ignore_errors=True)  # a demo leaves nothing behind
        check_size(arguments.nodes, history_ms, _free_bytes(data))
        plan = server_command.prepare(flags.resolve(arguments))._replace(
            simulated=True, itself=TARGET["instance"]
        )
        nodes = build_cluster(scenario)
        stands = arguments.now is not None
        live = f"live nodes send every {choose_rate(len(nodes)).seconds:g} s"
        _write(scenario, nodes, plan, history_ms, f"the clock is frozen at {_iso(now)}" if stands else live)
        if stands:
            server_command.serve(plan._replace(clock=lambda: now, itself=""), DemoCompanion(None), clean)
        else:
            server_command.serve(plan, DemoCompanion(LiveNodes(scenario, nodes, plan.data)), clean)
    return 0


def build_cluster(scenario: Scenario) -> list[SimulatedNode]:
    """Return the nodes of a scenario, one of which has the scheduler beside it."""
    plain = [SimulatedNode(scenario, machine, head=False) for machine in scenario.machines.values()]
    head = find_head(plain)
    return [SimulatedNode(scenario, node.machine, head=node.machine.name == head) for node in plain]


def truth(scenario: Scenario) -> list[dict[str, object]]:
    """Return what goes wrong, where and when."""
    found = []
    for incident in scenario.incidents:
        facts = {name: value for name, value in incident._asdict().items() if value not in (None, "")}
        facts["begin"] = _iso(scenario.at(incident.begin))
        facts["end"] = None if incident.end is None else _iso(scenario.at(incident.end))
        found.append(facts)
    return found


class DemoCompanion:
    """Says where the server is, and runs the agents of a cluster whose clock goes on."""

    def __init__(self, agents: LiveNodes | None) -> None:
        self._agents = agents

    def start(self, address: str) -> None:
        print(address, flush=True)
        if self._agents:
            self._agents.start(address)

    async def stop(self) -> None:
        if self._agents:
            await self._agents.stop()


def _write(
    scenario: Scenario, nodes: list[SimulatedNode], plan: ServerConfig, history_ms: int, then: str
) -> None:
    begun = time.monotonic()
    log.info(
        "simulated cluster: %d nodes, %s of history; all data is simulated", len(nodes), _hours(history_ms)
    )
    if (plan.data / CLUSTER_FILE).exists():
        raise ValueError(f"{plan.data} is not empty. Give the demo a directory of its own")
    plan.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_history(scenario, nodes, plan.data, history_ms, DemoProgress(len(nodes)))
    write_traces(scenario, plan.data / TRACES)
    log.info("history written in %.1f s; %s", time.monotonic() - begun, then)


class DemoProgress:
    """Says now and then how far it is, when it takes long."""

    def __init__(self, whole: int) -> None:
        self._whole, self._said = whole, time.monotonic()

    def __call__(self, done: int) -> None:
        """Take how many nodes are done."""
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            log.info("history of %d of %d nodes written", done, self._whole)


def _free_bytes(data: str) -> int:
    """Return how many bytes are free where the data will be."""
    place = Path(data).absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def _hours(milliseconds: int) -> str:
    return f"{milliseconds / 3_600_000:g} h"


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000).astimezone().isoformat(timespec="seconds")
