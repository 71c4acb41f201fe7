"""A stand-in for an inference server: it answers no prompt, and has the metrics that the real one has.

Names, types and paths are those of the servers; the numbers are made up, and grow with every scrape.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple

from vigie.model import Metric, format_series
from vigie.wire import llm_series, triton_series

BOUNDS = ("0.01", "0.1", "1", "10", "+Inf")
GROWTH = 12.0  # of a counter with each scrape
RENAMED = {  # by vLLM, since 0.11.2 and 0.14.1
    "vllm:kv_cache_usage_perc": "vllm:gpu_cache_usage_perc",
    "vllm:inter_token_latency_seconds": "vllm:time_per_output_token_seconds",
}
OLD = tuple(RENAMED.values())
LABELS = {"request_type": ("active", "waiting"), "kv_cache_block_type": ("used", "fraction")}


class ServerKind(NamedTuple):
    """Which names a server has, and where."""

    metrics: tuple[Metric, ...]
    path: str = "/metrics"


def _of(prefix: str, *, without: Iterable[str] = ()) -> tuple[Metric, ...]:
    """Return the declared metrics whose names begin so; an empty prefix means no prefix that another has."""
    others = tuple(one for one, _ in llm_series.LABELS if one)
    return tuple(
        metric
        for metric in llm_series.METRICS
        if (metric.name.startswith(prefix) if prefix else not metric.name.startswith(others))
        and not metric.name.startswith(tuple(without) or "\0")
    )


KINDS = {
    "triton": ServerKind(triton_series.METRICS),
    "vllm": ServerKind(_of("vllm:", without=OLD)),
    "vllm-0.9": ServerKind(_of("vllm:", without=RENAMED)),
    "sglang": ServerKind(_of("sglang:")),
    "tgi": ServerKind(_of("tgi_")),
    "trtllm": ServerKind(_of("trtllm_"), "/prometheus/metrics"),
    "nim": ServerKind(_of(""), "/v1/metrics"),
    "dynamo": ServerKind(_of("dynamo_frontend_")),
}


class StandInServer:
    """Serves the metrics of one kind of server on a free port of this machine, while it is entered."""

    def __init__(self, kind: str) -> None:
        self.kind, self.scrapes = KINDS[kind], 0
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self.port = int(self._http.server_address[1])

    def __enter__(self) -> StandInServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def text(self) -> str:
        """Return what the server says next."""
        self.scrapes += 1
        lines: list[str] = []
        for metric in self.kind.metrics:
            if f"# TYPE {metric.family} {metric.kind}" not in lines:
                lines += [f"# HELP {metric.family} {metric.help}", f"# TYPE {metric.family} {metric.kind}"]
            lines += self._series(metric)
        return "\n".join(lines) + "\n"

    def _series(self, metric: Metric) -> Iterator[str]:
        own = metric._replace(labels=tuple(name for name in metric.labels if name != "port"))
        inner = next((name for name in own.labels if name in (*LABELS, "le")), "")
        for number, word in enumerate(BOUNDS if inner == "le" else LABELS.get(inner, ("",))):
            labels = tuple(word if name == inner else f"a-{name}" for name in own.labels)
            grown = self.scrapes * GROWTH * (number + 1)
            yield f"{format_series(own, labels)} {0.4 if metric.kind == 'gauge' else grown}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            """Answers one request."""

            def do_GET(self) -> None:
                """Answer with the metrics at their path, and nowhere else."""
                there = self.path == server.kind.path
                body = server.text().encode() if there else b"not here\n"
                self.send_response(200 if there else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing."""

        return Handler
