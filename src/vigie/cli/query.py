"""Ask a server in PromQL, and print a table, a sparkline for each series of a range, or JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from vigie.agent.scrape_token import kept_token
from vigie.cli import _settings
from vigie.query.errors import QueryError
from vigie.server.parameters import Parameters

EXAMPLE = """examples:
  vigie query up
  vigie query 'topk(3, node_load1)' --json
  vigie query 'rate(node_cpu_seconds_total{mode="user"}[5m])' --range 6h --step 1m"""
SECONDS = 130.0  # a little more than a query may take
WIDTH = 60
BARS = "▁▂▃▄▅▆▇█"


class Unanswered(Exception):
    """The server gave no answer; the message says why and what to type."""


ERRORS = (*_settings.ERRORS, Unanswered, QueryError, ValueError)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("promql", metavar="PROMQL", help="the query")
    parser.add_argument("--range", metavar="DURATION", help="ask over so long a time, such as 1h")
    parser.add_argument("--step", metavar="DURATION", help="seconds between two points (default: range / 60)")
    parser.add_argument("--at", metavar="TIME", help="when, or where the range ends (default: now)")
    parser.add_argument(
        "--server", default="http://127.0.0.1:8000", metavar="URL", help="whom to ask (default: %(default)s)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="where the server's token is, else in $VIGIE_TOKEN"
    )
    parser.add_argument("--json", action="store_true", help="print what the server says, as it is")


def run(arguments: argparse.Namespace) -> int:
    """Ask, and print the answer."""
    body = _asked(arguments, *_request(arguments))
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


def _asked(arguments: argparse.Namespace, path: str, parameters: Mapping[str, Any]) -> bytes:
    url = f"{arguments.server.rstrip('/')}/api/v1/{path}"
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"--server {arguments.server!r} should be an address such as http://127.0.0.1:8000")
    form = urlencode(parameters).encode()
    status, body = _posted(url, form, os.environ.get("VIGIE_TOKEN", ""))
    if status == 401 and "VIGIE_TOKEN" not in os.environ and (token := _local_token(arguments)):
        status, body = _posted(url, form, token)
    if status == 200:
        return body
    raise Unanswered(f"{arguments.server} says {status}: {_reason(body)}")


def _posted(url: str, form: bytes, token: str) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, form, headers)  # noqa: S310 - the scheme is checked
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError as error:
        reason = getattr(error, "reason", None) or error
        raise Unanswered(f"{url}: {reason}; is it running? vigie server") from None


def _local_token(arguments: argparse.Namespace) -> str:
    """Return the token of a server on this machine; it is shown to no other."""
    if urlsplit(arguments.server).hostname not in ("127.0.0.1", "localhost", "::1") and not arguments.data:
        return ""
    directory = arguments.data or _settings.default_data()
    try:
        return kept_token(directory / "server-token")
    except OSError:
        return ""


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return body[:500].decode(errors="replace").strip() or "nothing more"


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
