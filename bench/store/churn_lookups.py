"""Look-ups asked of two servers in turns, one with what stays and one with what comes and goes.

Each is asked right after the start, then beside the upkeep that the start made due, then when both are idle.
"""

from __future__ import annotations

import http.client
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from bench.programs import Program

HOUR = 3600
ROUNDS = 15
UPKEEP_SECONDS = 12.0  # by then the first upkeep is under way
A_LOOK = 1.0  # seconds
IDLE = 0.05  # of a core


class Lookup(NamedTuple):
    """A question about labels, over the newest hour or over all."""

    name: str
    path: str
    match: str = ""

    @property
    def only_churns(self) -> bool:
        """Tell whether there is nothing to find where none come and go."""
        return "container" in self.match

    def over(self, span: int, end: int) -> str:
        """Return what to ask for, of so many seconds before a time."""
        times = {"start": end - span, "end": end}
        return f"/api/v1/{self.path}?{urlencode(times | ({'match[]': self.match} if self.match else {}))}"


STAYS = 'DCGM_FI_DEV_GPU_UTIL{instance="node0001"}'
LOOKUPS = [
    Lookup("labels", "labels"),
    Lookup("labels of a metric that stays", "labels", "DCGM_FI_DEV_GPU_UTIL"),
    Lookup("metric names", "label/__name__/values"),
    Lookup("instances", "label/instance/values"),
    Lookup("GPUs", "label/gpu/values", "DCGM_FI_DEV_GPU_UTIL"),
    Lookup("series of a metric that stays", "series", "DCGM_FI_DEV_GPU_UTIL"),
    Lookup("series of one node's metric", "series", STAYS),
    Lookup("a node's containers", "series", 'container_threads{instance="node0001"}'),
    Lookup("containers' ids", "label/id/values", 'container_threads{instance="node0001"}'),
]


class Answer(NamedTuple):
    """What an answer took, and how long it is."""

    wall: float  # ms
    cpu: float  # ms of the program
    size: int  # bytes


class Served:
    """A program that answers."""

    def __init__(self, program: Program, port: int) -> None:
        self.program = program
        self._client = http.client.HTTPConnection("127.0.0.1", port, timeout=300)

    def ask(self, address: str) -> Answer:
        """Ask for a path."""
        cpu, begin = self.program.cpu(), time.perf_counter()
        self._client.request("GET", address)
        body = self._client.getresponse().read()
        wall = time.perf_counter() - begin
        return Answer(wall * 1000, (self.program.cpu() - cpu) * 1000, len(body))


def report_lookups(stays: Served, churns: Served, hours: int, end: int) -> None:
    """Ask, and print how long it took both."""
    both, spans = (stays, churns), [("newest hour", HOUR), ("all", hours * HOUR)]
    asked = [(each, said, each.over(span, end)) for said, span in spans for each in LOOKUPS]
    first = [[one.ask(address).wall for one in both] for _, _, address in asked]
    addresses = [address for lookup, _, address in asked if not lookup.only_churns]
    for said, times in zip(("stays", "churns"), _beside_upkeep(both, addresses), strict=True):
        print(f"  beside the first upkeep, {said:6s} {_summary(times)}")
    print(f"  {'ms, stays and churns':44s} {'median when idle':>22s} {'its CPU':>21s} {'first':>13s}")
    for (lookup, said, address), begun in zip(asked, first, strict=True):
        some = [[one.ask(address) for one in both] for _ in range(ROUNDS)]
        walls = [statistics.median(answer.wall for answer in each) for each in zip(*some, strict=True)]
        cpus = [statistics.median(answer.cpu for answer in each) for each in zip(*some, strict=True)]
        cells = f"{_compared(walls, lookup)} {_compared(cpus, lookup)} {begun[0]:6.1f} {begun[1]:6.1f}"
        print(f"  {lookup.name + ', ' + said:44s} {cells}", flush=True)


def _compared(times: Sequence[float], lookup: Lookup) -> str:
    before, after = times
    ratio = "" if lookup.only_churns else f"{after / before:.2f} x"
    return f"{before:6.1f} {after:6.1f} {ratio:>7s}"


def _beside_upkeep(both: Sequence[Served], addresses: Sequence[str]) -> list[list[float]]:
    """Ask until both are idle; return how long it took those that were not."""
    took: list[list[float]] = [[] for _ in both]
    begin = time.monotonic()
    while True:
        before = [one.program.cpu() for one in both]
        time.sleep(A_LOOK)
        busy = [one.program.cpu() - cpu > IDLE * A_LOOK for one, cpu in zip(both, before, strict=True)]
        if not any(busy) and time.monotonic() - begin > UPKEEP_SECONDS:
            return took
        for one, times, works in zip(both, took, busy, strict=True):
            if works:
                times += [one.ask(address).wall for address in addresses]


def _summary(times: Sequence[float]) -> str:
    if not times:
        return "none were asked"
    order_by_metric = sorted(times)
    p95 = order_by_metric[int(len(order_by_metric) * 0.95)]
    return f"{len(times)} of any kind: {statistics.median(times):.1f} ms median, {p95:.1f} p95"
