"""Labels, label values and series of 1.5 million series, over HTTP, also right after new series came.

python bench/store/lookups.py --nodes 1000
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from bench.programs import free_port, machine, running, wait_for  # noqa: E402
from bench.store.fleet import INTERVAL, SERIES, Node, Part  # noqa: E402
from bench.store.wire import Template, Writer  # noqa: E402
from vigie.model import gauge  # noqa: E402
from vigie.store.store import Store  # noqa: E402

STEPS = 2  # frames of each node
ROUNDS = 3
BUDGET = 200  # ms, of the slowest twentieth


class Lookup(NamedTuple):
    """What is asked: a path behind /api/v1/, selectors, a limit."""

    path: str
    matches: tuple[str, ...] = ()
    limit: int = 0


ONE_NODE, SOME_NODES = '{instance="node0007"}', '{instance=~"node000.+"}'
VALUES = [
    Lookup(f"label/{label}/values", matches)
    for label, matches in [
        ("__name__", ()),
        ("instance", ()),
        ("job", ()),
        ("device", ()),
        ("gpu", ()),
        ("UUID", ()),
        ("mode", ()),
        ("__name__", (ONE_NODE,)),
        ("__name__", ('{job="node"}',)),
        ("__name__", ('{__name__=~"node_.+"}',)),
        ("instance", ("node_cpu_seconds_total",)),
        ("instance", ('DCGM_FI_DEV_GPU_UTIL{gpu="3"}',)),
        ("instance", ('{__name__=~"node_network_.+",device="eth0"}',)),
        ("gpu", ("DCGM_FI_DEV_GPU_UTIL",)),
        ("UUID", ('DCGM_FI_DEV_GPU_UTIL{instance=~"node01.+"}',)),
        ("mode", ("node_cpu_seconds_total",)),
        ("device", ('{__name__=~"node_disk.+"}', "node_network_receive_bytes_total")),
        ("cpu", (SOME_NODES,)),
        ("le", ("http_request_duration_seconds_bucket",)),
        ("nothing", ("node_cpu_seconds_total",)),
    ]
]
LABELS = [
    Lookup("labels", matches)
    for matches in [
        (),
        (ONE_NODE,),
        (SOME_NODES,),
        ("node_cpu_seconds_total",),
        ('DCGM_FI_DEV_GPU_UTIL{gpu="3"}',),
        ('{__name__=~"DCGM_.+"}',),
        ('{device="eth0"}',),
        ('{job=~"n.+"}',),
    ]
]
SETS = [
    Lookup("series", matches, limit)
    for matches, limit in [
        ((ONE_NODE,), 0),
        (("DCGM_FI_DEV_GPU_UTIL",), 100),
        (("DCGM_FI_DEV_GPU_UTIL",), 0),
        (('node_cpu_seconds_total{instance="node0007"}',), 0),
        (('node_cpu_seconds_total{mode="idle",cpu="0"}',), 0),
        (("node_cpu_seconds_total",), 100),
        (("http_request_duration_seconds_bucket",), 1000),
        (('{__name__=~"node_memory_.+"}',), 100),
        (('{device="eth0"}',), 100),
        (('{__name__=~".+"}',), 100),
        ((SOME_NODES,), 100),
        (("node_memory_3", "node_vmstat_7"), 0),
    ]
]
MIX = [*VALUES, *LABELS, *SETS]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=1000)
    given = arguments.parse_args()
    print(f"Measured {machine()}.\n{given.nodes} nodes x {SERIES} series.\n", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        end = fill(Path(directory) / "store", given.nodes)
        port = free_port()
        command = [sys.executable, "-m", "vigie", "server", f"--listen=127.0.0.1:{port}"]
        with running([*command, f"--data={directory}"], port, "/", patience=900):
            wait_for(port, "/-/ready", 900)
            report(port, end, (Path(directory) / "server-token").read_text().strip())


def fill(directory: Path, nodes: int) -> int:
    """Take a few frames of every node; return when the last was."""
    start = int(time.time() * 1000) - STEPS * INTERVAL
    with Store(directory) as store:
        for number in range(nodes):
            node = Node(number)
            for frame in node.frames(node.times(start, 0, STEPS), node.values(STEPS)):
                store.append(node.labels, frame)
        store.sync()
    return start // 1000 + STEPS * INTERVAL // 1000


def report(port: int, end: int, token: str) -> None:
    """Ask all several times over, the last time after each new series, and print how long it took."""
    took = {lookup: [ask(port, lookup, end)] for lookup in MIX}
    for _ in range(ROUNDS):
        for lookup, times in took.items():
            times.append(ask(port, lookup, end))
    fresh = newcomers(port, token)
    for lookup, times in took.items():
        next(fresh)
        times.append(ask(port, lookup, end))
    print("| ms | first | median of the next | after a new series |\n|---|---|---|---|")
    for (path, matches, limit), times in took.items():
        what = " ".join([path, *matches, *([f"limit {limit}"] if limit else [])])
        print(f"| {what} | {times[0]:.0f} | {np.median(times[1:-1]):.0f} | {times[-1]:.0f} |")
    every = [each for times in took.values() for each in times]
    median, p95, most = (np.quantile(every, q) for q in (0.5, 0.95, 1.0))
    print(f"\n{len(every)} look-ups: {median:.0f} ms median, {most:.0f} ms at most")
    print(f"p95 {p95:.0f} ms (budget {BUDGET})")


def ask(port: int, lookup: Lookup, end: int) -> float:
    """Return the milliseconds of one look-up over the newest hour, whole body."""
    query = [("match[]", match) for match in lookup.matches] + [("start", end - 3600), ("end", end)]
    if lookup.limit:
        query.append(("limit", lookup.limit))
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    begin = time.perf_counter()
    client.request("GET", f"/api/v1/{lookup.path}?{urlencode(query)}")
    body = client.getresponse().read()
    took = (time.perf_counter() - begin) * 1000
    client.close()
    if json.loads(body)["status"] != "success":
        raise RuntimeError(body[:300])
    return took


def newcomers(port: int, token: str) -> Iterator[None]:
    """Write a series that was never there before, again and again."""
    writer = Writer(port, "/api/v1/write", token)
    number = 0
    while True:
        series = ((gauge("newcomer", "New.", "number"), (str(number),)),)
        node = Node(number, [Part("newcomer", "constant", series)])
        now = np.array([int(time.time() * 1000)], dtype=np.int64)
        writer.send(Template(node, 1).filled(now, np.ones((1, 1))))
        number += 1
        yield


if __name__ == "__main__":
    main()
