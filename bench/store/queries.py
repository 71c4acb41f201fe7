"""Nine dashboard queries, and their latency over HTTP."""

from __future__ import annotations

import http.client
import json
import math
import statistics
import threading
import time
from typing import NamedTuple
from urllib.parse import urlencode

from bench.programs import Program

CPU = 'rate(node_cpu_seconds_total{mode!="idle"}[5m])'
HOUR = 3600


class Question(NamedTuple):
    """A query over the last so many seconds in steps; without a step, at the end only."""

    name: str
    query: str
    span: int = 0
    step: int = 0


NINE = [
    Question("CPU by node, 6 h at 60 s", f"sum by(instance)({CPU})", 6 * HOUR, 60),
    Question("CPU by node, 1 h at 15 s", f"sum by(instance)({CPU})", HOUR, 15),
    Question("GPU utilisation, 6 h", "avg by(gpu,instance)(DCGM_FI_DEV_GPU_UTIL)", 6 * HOUR, 60),
    Question("one node's GPUs, 6 h", 'DCGM_FI_DEV_GPU_UTIL{instance="node0007"}', 6 * HOUR, 60),
    Question(
        "one node's CPU by mode, 6 h",
        'sum by(mode)(rate(node_cpu_seconds_total{instance="node0007"}[5m]))',
        6 * HOUR,
        60,
    ),
    Question("ten busiest nodes, now", f"topk(10, sum by(instance)({CPU}))"),
    Question("ten busiest interfaces, now", "topk(10, rate(node_network_receive_bytes_total[5m]))"),
    Question(
        "95th percentile, 6 h",
        "histogram_quantile(.95, sum by(le,handler)(rate(http_request_duration_seconds_bucket[5m])))",
        6 * HOUR,
        60,
    ),
    Question("mean GPU utilisation of 1 h, now", "avg_over_time(DCGM_FI_DEV_GPU_UTIL[1h])"),
]


class Took(NamedTuple):
    """Milliseconds of the first time and the median of the later ones, and how many points came."""

    cold: float
    warm: float
    points: int
    total: float  # the sum of all finite values, to see that the answers are about the same


def ask(port: int, question: Question, end: int, hours: float, repeats: int) -> Took:
    """Ask once, then again; whole bodies are read, but parsed only for counting."""
    span = min(question.span, int(hours * HOUR))
    parameters: dict[str, object] = {"query": question.query, "nocache": 1}
    if question.step:
        path = "query_range"
        parameters |= {"start": end - span, "end": end, "step": question.step}
    else:
        path = "query"
        parameters["time"] = end
    times, body = [], b""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    for _ in range(1 + repeats):
        begin = time.perf_counter()
        client.request("GET", f"/api/v1/{path}?{urlencode(parameters)}")
        body = client.getresponse().read()
        times.append((time.perf_counter() - begin) * 1000)
    client.close()
    return Took(times[0], statistics.median(times[1:]), *_points(body))


def _points(body: bytes) -> tuple[int, float]:
    said = json.loads(body)
    if said["status"] != "success":
        raise RuntimeError(body[:300])
    values = [
        float(value)
        for series in said["data"]["result"]
        for _, value in series.get("values") or [series["value"]]
    ]
    return len(values), sum(value for value in values if math.isfinite(value))


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


class Watch:
    """Looks at a program's memory every 100 ms."""

    def __init__(self, program: Program) -> None:
        self.peak = program.pss()
        self._program = program
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self.peak = max(self.peak, self._program.pss())
