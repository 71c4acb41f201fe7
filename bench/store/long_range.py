"""A day of many nodes in one question: from rollups at coarse steps, from raw samples at fine ones.

python bench/store/long_range.py --nodes 200 --hours 24

The CPU counters of every node, with restarts and gaps, are written straight into blocks; upkeep makes the
rollups, and a real server is asked. What rollups answer is compared with raw samples, for some of the nodes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import free_port, machine, running, wait_for  # noqa: E402
from bench.store.fleet import INTERVAL, Matrix, Node, Times, parts_of  # noqa: E402
from vigie.query.engine import Engine  # noqa: E402
from vigie.query.storage import Labels, Load, Matcher, SeriesGroup  # noqa: E402
from vigie.store.bulk_load import BulkLoader  # noqa: E402
from vigie.store.store import Store  # noqa: E402

CPU = 'sum by(instance)(rate(node_cpu_seconds_total{mode!="idle"%s}[%s]))'
RESTARTS, GAPS = 3, 3  # of each node
COMPARED = ',instance=~"node00[01]."'  # 20 nodes
REPEATS = 3
ROUNDS, MINUTE_MS = 20, 60_000  # of upkeep
Answer = dict[str, dict[float, float]]


class Long(NamedTuple):
    """A question, and how many seconds it may take."""

    name: str
    window: str
    step: int
    budget: float
    rolled_up: bool


QUESTIONS = [
    Long("5 min steps, [15m], from rollups", "15m", 300, 5, rolled_up=True),
    Long("60 s steps, [5m], from raw samples", "5m", 60, 10, rolled_up=False),
]


def load(directory: Path, nodes: int, hours: float, end: int) -> int:
    """Write all nodes into blocks, and return how many samples there are."""
    samples, steps = 0, int(hours * 3_600_000) // INTERVAL
    with BulkLoader(directory) as loader:
        for number in range(nodes):
            node = Node(number, [part for part in parts_of(number) if part.table == "cpu"])
            times = node.times(end - (steps + 1) * INTERVAL, 0, steps)
            values, there = with_trouble(node.values(steps), np.random.default_rng(number))
            for table, first, last in node.tables:
                loader.load(node.labels, table, times[there], values[there, first:last])
            samples += len(there) * len(node.series)
            if number % 20 == 19:
                print(f"{number + 1} nodes loaded", flush=True)
    return samples


def with_trouble(values: Matrix, chance: np.random.Generator) -> tuple[Matrix, Times]:
    """Return counters that begin anew a few times, and the rows that are left where a node was away."""
    rows = len(values)
    for at in chance.integers(1, rows, RESTARTS):
        values[at:] = np.round(values[at:] - values[at], 2)
    away = np.zeros(rows, dtype=np.bool_)
    for at, length in zip(chance.integers(0, rows, GAPS), chance.integers(4, 160, GAPS), strict=True):
        away[at : at + length] = True
    return values, np.flatnonzero(~away)


def roll(directory: Path, end: int) -> None:
    """Let upkeep make what rollups there should be: as time goes by, a part of them each time."""
    begin, now, size = time.process_time(), end, -1
    with Store(directory) as store:
        while (grown := store.bytes_on_disk()[0]) != size:
            size = grown
            for _ in range(ROUNDS):
                now += MINUTE_MS
                store.maintain(now)
            print(f"{size / 1e6:.0f} MB with rollups so far", flush=True)
    print(f"rollups took {time.process_time() - begin:.0f} s of CPU\n", flush=True)


def ask(port: int, question: Long, start: int, end: int) -> tuple[list[float], Answer]:
    """Return how many seconds it took, first of all cold, and the answer."""
    query = {"query": CPU % ("", question.window), "start": start, "end": end, "step": question.step}
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    took, said = [], dict[str, Any]()
    for _ in range(1 + REPEATS):
        begin = time.perf_counter()
        client.request("GET", f"/api/v1/query_range?{urlencode(query)}")
        body = client.getresponse().read()
        took.append(time.perf_counter() - begin)
        said = json.loads(body)
        if said["status"] != "success":
            raise SystemExit(f"{question.name}: {said}")
    client.close()
    if bool(said.get("warnings")) != question.rolled_up:
        raise SystemExit(f"{question.name}: the server says {said.get('warnings')}")
    return took, {
        series["metric"]["instance"]: {float(at): float(value) for at, value in series["values"]}
        for series in said["data"]["result"]
    }


class Raw:
    """A store of which only raw samples are seen."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        """Return the samples of the series that the matchers fit."""
        return self._store.select(matchers, start, end)

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield what reads their groups one by one."""
        return self._store.scan(matchers, start, end)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of the series."""
        return self._store.series(matchers, start, end)

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the names of their labels."""
        return self._store.label_names(matchers, start, end)

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the values of a label."""
        return self._store.label_values(name, matchers, start, end)


def difference(directory: Path, question: Long, found: Answer, start: int, end: int) -> tuple[float, int]:
    """Return the largest relative difference to raw samples, and of how many points."""
    with Store(directory) as store:
        query = CPU % (COMPARED, question.window)
        answer = Engine(Raw(store)).range(query, start * 1000, end * 1000, question.step * 1000)
    worst, points = 0.0, 0
    for series in answer.series:
        theirs = found[series.labels["instance"]]
        if list(theirs) != [at / 1000 for at in series.times.tolist()]:
            raise SystemExit(
                f"{question.name}: other points of {series.labels['instance']} than of raw samples"
            )
        for got, raw in zip(theirs.values(), series.values.tolist(), strict=True):
            worst, points = max(worst, abs(got - raw) / max(abs(raw), 1e-300)), points + 1
    return worst, points


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--nodes", type=int, default=200)
    arguments.add_argument("--hours", type=float, default=24)
    given = arguments.parse_args()
    print(f"Measured {machine()}.", flush=True)
    with tempfile.TemporaryDirectory() as name:
        end = int(time.time()) // 300 * 300
        start, directory = end - int(given.hours * 3600), Path(name) / "store"
        samples = load(directory, given.nodes, given.hours, end * 1000)
        print(f"{given.nodes} nodes, {given.hours:g} h, {samples / 1e6:.0f} M samples\n", flush=True)
        roll(directory, end * 1000)
        found = measured(Path(name), start, end)
        for question in QUESTIONS:
            worst, points = difference(directory, question, found[question.name], start, end)
            print(f"{question.name}: at most {worst:.1e} from raw samples, of {points} points", flush=True)


def measured(data: Path, start: int, end: int) -> dict[str, Answer]:
    """Ask a real server, print how long it takes, and return what it said."""
    port, found = free_port(), {}
    command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{port}", f"--data={data}"]
    with running(command, port, "/", patience=600):
        wait_for(port, "/-/ready")
        for question in QUESTIONS:
            took, found[question.name] = ask(port, question, start, end)
            times = ", ".join(f"{each:.2f}" for each in took)
            print(f"{question.name}: {times} s, the first cold (at most {question.budget:g})", flush=True)
    return found


if __name__ == "__main__":
    main()
