"""Run a PromQL query, and print a table, sparklines or JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from vigie.cli import _argument_types, _list_output, _server_client
from vigie.cli._server_client import ServerRequestError, request
from vigie.cli.settings import flags
from vigie.views.text import output
from vigie.views.text.sparkline import sparkline
from vigie.views.text.table_layout import TableColumn

EXAMPLE = """examples:
  vigie query up
  vigie query 'topk(3, node_load1)' --json
  vigie query 'rate(node_cpu_seconds_total{mode="user"}[5m])' --range 6h --step 1m"""
POINTS, LEAST_POINTS = 60, 10
LENGTH = 9  # of numbers that are told as they came
PLACES = ("instance", "node", "gpu", "device", "user")  # labels that say which; others mostly say the same
ERRORS = (*flags.ERRORS, ServerRequestError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("promql", metavar="PROMQL", help="the query")
    parser.add_argument(
        "--range", type=_argument_types.length, metavar="DURATION", help="query range, such as 1h"
    )
    parser.add_argument(
        "--step",
        type=_argument_types.length,
        metavar="DURATION",
        help="query step (default: range / 60)",
    )
    parser.add_argument(
        "--at",
        type=_argument_types.moment,
        metavar="TIME",
        help="time of the query, or end of the range (default: now)",
    )
    _server_client.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the raw response")


def run(arguments: argparse.Namespace) -> int:
    """Run the query, and print its result."""
    path, parameters = _request(arguments)
    body = request(arguments, "POST", f"api/v1/{path}", urlencode(parameters).encode())
    if arguments.json:
        print(body.decode())
        return 0
    said = _read(body)
    for remark in (*said.get("warnings", ()), *said.get("infos", ())):
        print(f"vigie query: {remark}", file=sys.stderr)
    _show(said["data"])
    return 0


def _request(arguments: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    if not arguments.range:
        if arguments.step:
            raise argparse.ArgumentError(None, "--step requires --range, such as --range 1h")
        moment = {} if arguments.at is None else {"time": arguments.at / 1000}
        return "query", {"query": arguments.promql, **moment}
    step = arguments.step or max(arguments.range // POINTS, 1000)
    at = _now(arguments) if arguments.at is None else arguments.at
    span = {"start": (at - arguments.range) / 1000, "end": at / 1000, "step": step / 1000}
    return "query_range", {"query": arguments.promql, **span}


def _now(arguments: argparse.Namespace) -> int:
    """Return the server's time in milliseconds: ours may differ, a demo's may be frozen."""
    said = _read(request(arguments, "POST", "api/v1/query", urlencode({"query": "time()"}).encode()))
    return round(float(said["data"]["result"][1]) * 1000)


def _read(body: bytes) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads(body)
        said["data"]["resultType"]
    except (ValueError, KeyError, TypeError):
        raise ServerRequestError(
            "unexpected response. Is --server the URL of a Prometheus-compatible server?"
        ) from None
    return said


def _show(data: Mapping[str, Any]) -> None:
    kind, result = data["resultType"], data["result"]
    if kind in ("scalar", "string"):
        output.show([str(result[1])])
        return
    names = sorted(
        {name for series in result for name in series["metric"]}, key=lambda n: (n != "__name__", n)
    )
    room = output.columns(sys.stdout)
    points = 2 * POINTS if room is None else max(LEAST_POINTS, min(2 * POINTS, room // 3))
    rows = [
        [*(series["metric"].get(name, "") for name in names), *_cells(series, points)] for series in result
    ]
    if not rows:
        output.show(["no series"])
        return
    values = ("value",) if kind == "vector" else ("min", "max", "last", "points")
    _list_output.show_table([*map(_label, names), *map(TableColumn, values)], rows)


def _label(name: str) -> TableColumn:
    if name == "__name__":
        return TableColumn("metric", least=12, rank=3)
    return TableColumn(name, least=8, rank=0 if name in PLACES else 2)


def _cells(series: Mapping[str, Any], points: int) -> list[str]:
    if "value" in series:
        return [_short(series["value"][1])]
    texts = [text for _, text in series["values"]]
    real = [text for text in texts if text != "NaN"] or texts
    every = max(1, -(-len(texts) // points))
    line = sparkline([float(text) for text in texts[::every]])
    return [*map(_short, (min(real, key=float), max(real, key=float), texts[-1])), line]


def _short(text: str) -> str:
    """Return a number with six digits; --json has them all."""
    value = float(text)
    if len(text) <= LENGTH or value == round(value):
        return text
    return f"{value:.6f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.6g}"
