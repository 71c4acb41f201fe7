"""A thousand agents on one server: joined, away for ten minutes, live load, questions, a kill.

python bench/server/agents.py --nodes 1000 --away 10 --seconds 60
python bench/server/agents.py --hours 3        # on so much of the same nodes' past, loaded first
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import itertools
import json
import logging
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import Program, free_port, machine, running, wait_for  # noqa: E402
from bench.store.fleet import SERIES, Node  # noqa: E402
from bench.store.queries import NINE, Question, Watch, ask  # noqa: E402
from bench.store.thousand import INTERVAL, Fleet, load, take  # noqa: E402
from vigie.agent.link.buffer import LinkBuffer  # noqa: E402
from vigie.agent.link.client import LinkClient, ServerPeer  # noqa: E402
from vigie.agent.link.credentials import LinkCredentials  # noqa: E402
from vigie.agent.link.entries import encode_frame  # noqa: E402
from vigie.agent.link.hello import describe_node, uptime_ms  # noqa: E402
from vigie.model import Frame  # noqa: E402
from vigie.store.filesystem import STORE_DIRECTORY  # noqa: E402
from vigie.store.store import Store  # noqa: E402

BACKLOG_SECONDS = 10  # between its frames
GONE_SECONDS = 60  # by the clock: by then an agent waits as long as it ever does before it dials again
AHEAD = 30  # steps whose numbers are made at a time
LOOK = 0.02  # seconds between looks for acknowledgements
HEADROOM = 60  # seconds between the past that was loaded and the first frame
STAYS = "node_setting_0"  # a series that each node has in each frame


class Agent:
    """The link of a real agent, behind which a made-up node stands."""

    def __init__(self, number: int, url: str, data: Path, cadence: float) -> None:
        self._node, self._cadence = Node(number), cadence
        self._numbers: Iterator[list[float]] = iter(())
        self.name = f"node{number:04d}"
        self.put = 0
        self.sent_at: float | None = None  # when the frame that is waited for was put
        me = describe_node(self.name, cadence, {})._replace(machine_id=self.name)
        credentials = LinkCredentials(
            data / self.name / "key", token_argument=(data / "join-token").read_text().strip()
        )
        self.link = LinkClient(ServerPeer(url, credentials), me, LinkBuffer(None, me.boot_id))

    def frame(self, age_ms: int = 0) -> None:
        """Put the next frame, as of so long ago."""
        numbers = next(self._numbers, None)
        if numbers is None:
            self._numbers = iter(self._node.values(AHEAD).tolist())
            numbers = next(self._numbers)
        parts = tuple((table, tuple(numbers[first:last])) for table, first, last in self._node.tables)
        now = time.time_ns() // 1_000_000
        self.link.buffer.put(encode_frame(Frame(now - age_ms, parts), uptime_ms() - age_ms))
        self.link._wake.set()  # a link itself takes only frames of now
        self.put += 1
        self.sent_at = time.perf_counter()

    async def live(self, phase: float) -> None:
        """Put a frame at every interval."""
        due = time.monotonic() + phase
        while True:
            await asyncio.sleep(max(due - time.monotonic(), 0))
            self.frame()
            due += self._cadence

    @property
    def settled(self) -> bool:
        """Tell whether all that was put is acknowledged."""
        return not self.link.buffer.in_memory


class Delays:
    """Looks when frames are acknowledged."""

    def __init__(self, agents: list[Agent]) -> None:
        self._agents = agents
        self.seconds: list[float] = []

    async def watch(self) -> None:
        """Note each frame's delay, to the time between two looks."""
        while True:
            now = time.perf_counter()
            for agent in self._agents:
                if agent.sent_at is not None and agent.settled:
                    self.seconds.append(now - agent.sent_at)
                    agent.sent_at = None
            await asyncio.sleep(LOOK)

    def take(self) -> str:
        """Return the median, the 99th percentile and the longest since the last time."""
        seen, self.seconds[:] = sorted(self.seconds), []
        if not seen:
            return "no acknowledgement"
        return (
            f"{seen[len(seen) // 2]:.2f} s median, {seen[len(seen) * 99 // 100]:.2f} s p99, "
            f"{seen[-1]:.2f} s at most, {len(seen)} frames"
        )


class Server:
    """A real server, which can be killed and started again on the same data."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    @contextlib.contextmanager
    def running(self) -> Iterator[Program]:
        """Run it from its readiness on."""
        command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{self.port}"]
        with running([*command, f"--data={self.data}"], self.port, "/", patience=120) as program:
            wait_for(self.port, "/readyz")
            yield program

    def value(self, query: str) -> float:
        """Return the only value of a query's answer, 0 for none."""
        result = self.result(query)
        return float(result[0]["value"][1]) if result else 0.0

    def result(self, query: str) -> list[dict[str, Any]]:
        """Return a query's answer."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        with contextlib.closing(client):
            client.request("GET", f"/api/v1/query?{urlencode({'query': query})}")
            said = json.loads(client.getresponse().read())
        result: list[dict[str, Any]] = said["data"]["result"]
        return result


async def until(what: Callable[[], bool], patience: float) -> float:
    """Return after how many seconds it holds, or fail."""
    begun = time.perf_counter()
    while not await asyncio.to_thread(what):
        if time.perf_counter() - begun > patience:
            raise TimeoutError(f"not within {patience:g} s")
        await asyncio.sleep(0.1)
    return time.perf_counter() - begun


async def share(program: Program, seconds: float, agents: list[Agent]) -> str:
    """Return the CPU and memory of the server, its children's questions aside, over so many seconds."""
    cpu, begun, put = program.cpu(), time.perf_counter(), sum(agent.put for agent in agents)
    await asyncio.sleep(seconds)
    used, frames = program.cpu() - cpu, sum(agent.put for agent in agents) - put
    core = used / (time.perf_counter() - begun)
    return f"{core:6.1%} of a core, {1000 * used / frames:.2f} ms a frame, {program.pss():5.0f} MB (PSS)"


async def beside(server: Server, program: Program, questions: list[Question], work: Awaitable[str]) -> str:
    """Ask questions in turn without a pause while something runs; tell how much memory there was at most."""
    asked: list[float] = []
    over = False

    async def asking() -> None:
        for question in itertools.cycle(questions):
            if over:
                return
            took = await asyncio.to_thread(ask, server.port, question, int(time.time()), 6, 1)
            asked.extend(took[:2])

    answers = asyncio.ensure_future(asking())
    with Watch(program) as watch:
        said = await work
    over = True
    await answers  # so that the last one is not asked beside what comes next
    mean = sum(asked) / len(asked) / 1000
    return f"{said}, {watch.peak:.0f} at most; answered {len(asked)} times in {mean:.2f} s"


async def returned(server: Server, agents: list[Agent]) -> None:
    """Print how soon live data and the backlog are in, once a server is ready."""
    ready = time.time()
    fresh = f"count(timestamp({STAYS}) > {ready:.3f})"
    seconds = await until(lambda: server.value(fresh) >= len(agents), 600)
    print(f"live data of all {len(agents)}: {seconds:.1f} s after readiness (goal 30)", flush=True)
    seconds = await until(lambda: not any(agent.link.buffer.has_waiting for agent in agents), 1200)
    print(f"backlog in: {time.time() - ready:.1f} s after readiness (goal 600)", flush=True)


async def joined(server: Server, given: argparse.Namespace) -> tuple[list[Agent], list[asyncio.Task[None]]]:
    """Have the agents known to a server, with a frame of before it goes away; it is killed then."""
    with server.running():  # so that there is a join token
        pass
    agents = [Agent(number, server.url, server.data, given.cadence) for number in range(given.nodes)]
    for agent in agents:
        agent.frame(int(given.away * 60 + given.cadence) * 1000)
    with server.running() as program:
        links = [asyncio.ensure_future(agent.link.run()) for agent in agents]
        seconds = await until(lambda: all(agent.settled for agent in agents), 300)
        print(
            f"all {len(agents)} have joined, with a frame each: {seconds:.1f} s after readiness", flush=True
        )
        program.kill()
    return agents, links


async def away(agents: list[Agent], ages_ms: list[int]) -> None:
    """Put the frames of the time without a server, until agents dial as seldom as they ever do."""
    back = time.monotonic() + GONE_SECONDS
    for agent in agents:
        for age_ms in ages_ms:
            agent.frame(age_ms)
        agent.sent_at = None
        await asyncio.sleep(0)  # so that links go on dialling
    await asyncio.sleep(max(back - time.monotonic(), 0))


async def measured(server: Server, given: argparse.Namespace) -> None:
    """Run all phases and print."""
    begun = time.time()
    agents, links = await joined(server, given)
    ages = range(int(given.away * 60), 0, -BACKLOG_SECONDS)
    await away(agents, [age * 1000 for age in ages])
    live = [agent.live(given.cadence * place / len(agents)) for place, agent in enumerate(agents)]
    delays = Delays(agents)
    tasks = [asyncio.ensure_future(job) for job in [*live, delays.watch()]] + links
    with server.running() as program:
        await returned(server, agents)
        await asyncio.sleep(given.rest)  # while upkeep presses what came at once
        delays.take()
        print("live load:     ", await share(program, given.seconds, agents), flush=True)
        print("  acknowledged:", delays.take(), flush=True)
        for what, questions in (("the nine", NINE), ("the heaviest", NINE[:1])):
            said = await beside(server, program, questions, share(program, given.seconds, agents))
            print(f"and {what}:".ljust(15), said, flush=True)
            print("  acknowledged:", delays.take(), flush=True)
        program.kill()
    with server.running() as program:
        print("after kill -9:")
        await returned(server, agents)
        for task in tasks[: len(live)]:
            task.cancel()
        await until(lambda: all(agent.settled for agent in agents), 120)
        report_gaps(server, agents, begun - given.away * 60 - HEADROOM)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def report_gaps(server: Server, agents: list[Agent], first: float) -> None:
    """Print how many frames are missing of those since a moment."""
    found = {
        str(series["metric"]["instance"]): int(float(series["value"][1]))
        for series in server.result(f"count_over_time({STAYS}[{time.time() - first:.0f}s])")
    }
    wanted = {agent.name: agent.put for agent in agents}
    missing = sum(wanted[name] - found.get(name, 0) for name in wanted)
    print(f"frames put: {sum(wanted.values())}, missing in the store: {missing}")


def past(data: Path, given: argparse.Namespace) -> None:
    """Load what the nodes had before, up to a little before their first frame."""
    fleet, store = Fleet(given.nodes, given.hours), Store(data / STORE_DIRECTORY)
    fleet.start -= int(given.away * 60 + 2 * HEADROOM) * 1000
    begun = time.time()
    load(fleet, store)
    while missing := int(time.time() - begun) // HEADROOM:  # what fell due while it was loaded
        begun += missing * HEADROOM
        first, fleet.loaded = fleet.loaded, fleet.loaded + missing * HEADROOM * 1000 // INTERVAL
        take(fleet, store, first)
    store.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--cadence", type=float, default=10, help="seconds between frames of an agent")
    parser.add_argument("--away", type=float, default=10, help="minutes of backlog to begin with")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hours", type=float, default=0, help="of the past, which is loaded first")
    parser.add_argument(
        "--rest", type=float, default=60, help="seconds between the backlog and the live load"
    )
    given = parser.parse_args()
    logging.disable()  # a thousand links that complain of a killed server
    print(
        f"Measured {machine()}. {given.nodes} agents x {SERIES} series every {given.cadence:g} s.", flush=True
    )
    with tempfile.TemporaryDirectory() as directory:
        if given.hours:  # in a process of its own, whose memory goes with it
            loading = multiprocessing.Process(target=past, args=(Path(directory), given))
            loading.start()
            loading.join()
        asyncio.run(measured(Server(Path(directory)), given))


if __name__ == "__main__":
    main()
