"""Show a simulated GPU cluster: hours of history with jobs and incidents, then live. Nothing is real."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from datetime import datetime
from urllib.parse import urlencode

from vigie.cli import server as server_command
from vigie.query.errors import QueryError
from vigie.server.api.parameters import Parameters
from vigie.server.api.queries import now_ms
from vigie.server.run import Plan
from vigie.simulation.cluster.fleet import fleet
from vigie.simulation.cluster.nodes import Node
from vigie.simulation.cluster.past import head_of, write_past
from vigie.simulation.cluster.present import Present
from vigie.simulation.cluster.server_columns import TARGET
from vigie.simulation.cluster.story import Story

EXAMPLE = """examples:
  vigie demo                                  16 nodes, 6 hours of history, then live
  vigie demo --nodes 100 --history 1h
  vigie demo --truth                          what is wrong in it, as JSON
  vigie demo --now 2026-11-01T12:00:00Z       the same picture each time; the clock stands still"""
ERRORS = (*server_command.ERRORS, QueryError)

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("--nodes", type=_count, default=16, help="how many nodes (default: %(default)s)")
    parser.add_argument("--gpus", type=_count, default=8, help="GPUs a node at most (default: %(default)s)")
    parser.add_argument("--history", default="6h", metavar="DURATION", help="how much (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another gives other numbers (default: 1)")
    parser.add_argument("--now", metavar="TIME", help="the moment at which the clock stands still")
    parser.add_argument("--truth", action="store_true", help="print every incident as JSON, and end")
    server_command.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Make the past, then run until it is stopped."""
    given = Parameters(urlencode({"history": arguments.history, "now": arguments.now or ""}).encode())
    history_ms, now = given.duration("history"), given.time_or("now", now_ms())
    story = Story(fleet(arguments.nodes, arguments.gpus), now, arguments.seed)
    if arguments.truth:
        json.dump(truth(story), sys.stdout, indent=2)
        print()
        return 0
    with tempfile.TemporaryDirectory(prefix="vigie-demo-") as scratch:
        if arguments.data is None:
            arguments.data = scratch  # a demo leaves nothing behind
        plan = server_command.prepared(arguments)._replace(simulated=True, itself=TARGET["instance"])
        nodes = made(story)
        _write(story, nodes, plan, history_ms)
        if arguments.now:
            server_command.serve(plan._replace(clock=lambda: now, itself=""), Beside(None))
        else:
            server_command.serve(plan, Beside(Present(story, nodes, plan.data)))
    return 0


def made(story: Story) -> list[Node]:
    """Return the nodes of a story, one of which has the scheduler beside it."""
    plain = [Node(story, machine, head=False) for machine in story.machines.values()]
    head = head_of(plain)
    return [Node(story, node.machine, head=node.machine.name == head) for node in plain]


def truth(story: Story) -> list[dict[str, object]]:
    """Return what goes wrong, where and when."""
    found = []
    for incident in story.incidents:
        facts = {name: value for name, value in incident._asdict().items() if value not in (None, "")}
        facts["begin"] = _iso(story.at(incident.begin))
        facts["end"] = None if incident.end is None else _iso(story.at(incident.end))
        found.append(facts)
    return found


class Beside:
    """Says where the server is, and runs the agents of a cluster whose clock goes on."""

    def __init__(self, agents: Present | None) -> None:
        self._agents = agents

    def start(self, address: str) -> None:
        """Start whatever there is."""
        print(address, flush=True)
        if self._agents:
            self._agents.start(address)

    async def stop(self) -> None:
        """End it."""
        if self._agents:
            await self._agents.stop()


def _write(story: Story, nodes: list[Node], plan: Plan, history_ms: int) -> None:
    begun = time.monotonic()
    log.info(
        "a simulated cluster: %d nodes, %s of history; nothing of it is real", len(nodes), _hours(history_ms)
    )
    if (plan.data / "nodes.sqlite").exists():
        raise ValueError(f"{plan.data} has data already; give the demo a directory of its own")
    plan.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_past(story, nodes, plan.data, history_ms)
    log.info("its past was made in %.1f s", time.monotonic() - begun)


def _hours(milliseconds: int) -> str:
    return f"{milliseconds / 3_600_000:g} h"


def _iso(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000).astimezone().isoformat(timespec="seconds")


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 10_000:
        raise ValueError("a number from 1 to 10000")
    return number
