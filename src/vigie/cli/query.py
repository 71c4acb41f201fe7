"""Ask a server in PromQL, and print a table, a sparkline for each series of a range, or JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from vigie.cli import _server, _settings
from vigie.cli._server import Unanswered, asked
from vigie.query.errors import QueryError
from vigie.server.api.parameters import Parameters

EXAMPLE = """examples:
  vigie query up
  vigie query 'topk(3, node_load1)' --json
  vigie query 'rate(node_cpu_seconds_total{mode="user"}[5m])' --range 6h --step 1m"""
WIDTH = 60
BARS = "▁▂▃▄▅▆▇█"


ERRORS = (*_settings.ERRORS, Unanswered, QueryError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("promql", metavar="PROMQL", help="the query")
    parser.add_argument("--range", metavar="DURATION", help="ask over so long a time, such as 1h")
    parser.add_argument("--step", metavar="DURATION", help="seconds between two points (default: range / 60)")
    parser.add_argument("--at", metavar="TIME", help="when, or where the range ends (default: now)")
    _server.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print what the server says, as it is")


def run(arguments: argparse.Namespace) -> int:
    """Ask, and print the answer."""
    path, parameters = _request(arguments)
    body = asked(arguments, "POST", f"api/v1/{path}", urlencode(parameters).encode())
    if arguments.json:
        print(body.decode())
        return 0
    said = _read(body)
    for remark in (*said.get("warnings", ()), *said.get("infos", ())):
        print(f"vigie query: {remark}", file=sys.stderr)
    for line in shown(said["data"]):
        print(line)
    return 0


def _request(arguments: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    given = {name: getattr(arguments, name) or "" for name in ("range", "step", "at")}
    parameters = Parameters(urlencode(given).encode())
    at = parameters.time_or("at", time.time_ns() // 1_000_000)
    if not arguments.range:
        if arguments.step:
            raise ValueError("--step needs --range, such as --range 1h")
        return "query", {"query": arguments.promql, "time": at / 1000}
    length = parameters.duration("range")
    step = parameters.duration_or_none("step") or max(length // WIDTH, 1000)
    span = {"start": (at - length) / 1000, "end": at / 1000, "step": step / 1000}
    return "query_range", {"query": arguments.promql, **span}


def _read(body: bytes) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads(body)
        said["data"]["resultType"]
    except (ValueError, KeyError, TypeError):
        raise Unanswered(
            "the answer is not that of Prometheus's API; is --server the address of one?"
        ) from None
    return said


def shown(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table."""
    kind, result = data["resultType"], data["result"]
    if kind in ("scalar", "string"):
        yield str(result[1])
        return
    names = sorted(
        {name for series in result for name in series["metric"]}, key=lambda n: (n != "__name__", n)
    )
    rows = [[*(series["metric"].get(name, "") for name in names), *_cells(series)] for series in result]
    if not rows:
        yield "no series"
        return
    heads = ["metric" if name == "__name__" else name for name in names]
    heads += ["value"] if kind == "vector" else ["min", "max", "last", "points"]
    yield from aligned([heads, *rows])


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows whose columns stand below each other."""
    widths = [max(map(len, column)) for column in zip(*(row[: len(rows[0])] for row in rows), strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells[:-1], row[-1]]).rstrip()


def sparkline(values: Sequence[float]) -> str:
    """Return the numbers as bars of eight heights; one that is no number is a blank."""
    finite = [value for value in values if abs(value) != float("inf") and value == value]
    if not finite:
        return " " * len(values)
    low, high = min(finite), max(finite)
    return "".join(_bar(value, low, high) for value in values)


def _bar(value: float, low: float, high: float) -> str:
    if value != value:
        return " "
    if high == low:
        return BARS[0]
    height = (min(max(value, low), high) - low) / (high - low)
    return BARS[min(int(height * len(BARS)), len(BARS) - 1)]


def _cells(series: Mapping[str, Any]) -> list[str]:
    if "value" in series:
        return [series["value"][1]]
    texts = [text for _, text in series["values"]]
    real = [text for text in texts if text != "NaN"] or texts
    every = max(1, -(-len(texts) // (2 * WIDTH)))
    line = sparkline([float(text) for text in texts[::every]])
    return [min(real, key=float), max(real, key=float), texts[-1], line]
