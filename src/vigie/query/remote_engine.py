"""Forwards queries to a Prometheus-compatible URL: Prometheus, VictoriaMetrics, Mimir, Thanos."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

from vigie.common.endpoint import Endpoint
from vigie.common.http_client import (
    MAX_ANSWER,
    DeadlineError,
    HttpClient,
    HttpResponse,
    ResponseTooLargeError,
    UnreachableError,
)
from vigie.query.engine import QueryResult, ResultSeries
from vigie.query.errors import BadDataError, ExecutionError, QueryError, QueryTimeoutError
from vigie.query.storage import Labels, Matcher

SECONDS = 120.0
MAX_CONNECTIONS = 8
FORM = "application/x-www-form-urlencoded"
ERRORS: dict[str, type[QueryError]] = {
    kind.kind: kind for kind in (BadDataError, ExecutionError, QueryTimeoutError, QueryError)
}


class BackendUnavailableError(QueryError):
    """The remote engine cannot be reached."""

    kind = "unavailable"
    status = 503


class RemoteEngine:
    """A client of a remote engine; the path of its URL, such as /prometheus, prefixes every request."""

    def __init__(
        self,
        target: Endpoint,
        seconds: float = SECONDS,
        max_bytes: int = MAX_ANSWER,
        connections: int = MAX_CONNECTIONS,
    ) -> None:
        target.check()
        self._target, self._seconds, self._max_bytes = target, seconds, max_bytes
        self._prefix = target.parts().path.rstrip("/")
        self._free = threading.Semaphore(connections)
        self._idle: list[HttpClient] = []

    def instant(self, query: str, at: int) -> QueryResult:
        return _to_result(self._post_query("query", query=query, time=_seconds(at)))

    def range(self, query: str, start: int, end: int, step: int) -> QueryResult:
        times = {"start": _seconds(start), "end": _seconds(end), "step": _seconds(step)}
        return _to_result(self._post_query("query_range", query=query, **times))

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        found: list[Labels] = self._get_metadata("series", matchers, start, end)
        return found

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        found: list[str] = self._get_metadata("labels", matchers, start, end)
        return found

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        found: list[str] = self._get_metadata(f"label/{quote(name, safe='')}/values", matchers, start, end)
        return found

    async def forward(
        self, method: str, path: str, query: str, body: bytes, content_type: str
    ) -> tuple[int, str, bytes]:
        """Forward a request unchanged; return status, content type and body."""
        where = f"{path}?{query}" if query else path
        headers = {"Content-Type": content_type} if content_type else {}
        reply = await asyncio.to_thread(self._request, method, where, body, headers)
        return reply.status, reply.headers.get("content-type", "application/json"), reply.body

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _get_metadata(self, path: str, matchers: Sequence[Matcher], start: int, end: int) -> Any:
        parameters = {"start": _seconds(start), "end": _seconds(end)}
        if matchers:
            parameters["match[]"] = format_matchers(matchers)
        where = f"/api/v1/{path}?{urlencode(parameters)}"
        return _decode(self._request("GET", where, b"", {}))["data"]

    def _post_query(self, path: str, **parameters: str) -> dict[str, Any]:
        # By POST: a query may be longer than a URL.
        body = urlencode(parameters).encode()
        return _decode(self._request("POST", f"/api/v1/{path}", body, {"Content-Type": FORM}))

    def _request(self, method: str, where: str, body: bytes, headers: dict[str, str]) -> HttpResponse:
        with self._client() as client:
            try:
                return client.request(method, self._prefix + where, body, headers)
            except DeadlineError as error:
                raise QueryTimeoutError(f"{self._target.name}: {error}") from None
            except ResponseTooLargeError as error:
                raise ExecutionError(f"{self._target.name}: {error}; ask for less") from None
            except UnreachableError as error:
                raise BackendUnavailableError(f"{self._target.name}: {error}") from None

    @contextmanager
    def _client(self) -> Iterator[HttpClient]:
        if not self._free.acquire(timeout=self._seconds):
            raise QueryTimeoutError(f"{self._target.name}: all connections are busy")
        try:
            client = self._idle.pop()
        except IndexError:
            client = HttpClient(self._target, self._seconds, self._max_bytes)
        try:
            yield client
        finally:
            self._idle.append(client)
            self._free.release()


def format_matchers(matchers: Sequence[Matcher]) -> str:
    return (
        "{"
        + ",".join(f"{m.label}{m.operator}{json.dumps(m.value, ensure_ascii=False)}" for m in matchers)
        + "}"
    )


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _decode(reply: HttpResponse) -> dict[str, Any]:
    try:
        document = json.loads(reply.body)
        if document["status"] == "success" and "data" in document:
            return dict(document)
        kind, message = str(document["errorType"]), str(document["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = reply.body[:200].decode("utf-8", "replace")
        raise BackendUnavailableError(f"no answer of a Prometheus API: {reply.status} {text!r}") from None
    error = ERRORS.get(kind) or (BadDataError if reply.status == 400 else ExecutionError)
    raise error(message)


def _to_result(document: dict[str, Any]) -> QueryResult:
    try:
        kind, result = document["data"]["resultType"], document["data"]["result"]
        warnings = tuple(map(str, document.get("warnings") or ()))
        if kind == "string":
            return QueryResult(kind, [], str(result[1]), warnings)
        if kind == "scalar":
            return QueryResult(kind, [_to_series({}, [result])], "", warnings)
        found = [_to_series(each["metric"], each.get("values") or [each["value"]]) for each in result]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise BackendUnavailableError(
            f"an answer that cannot be read: {type(error).__name__} {error}"
        ) from None
    return QueryResult(kind, found, "", warnings)


def _to_series(labels: dict[str, str], points: Sequence[tuple[float, str]]) -> ResultSeries:
    times = np.array([round(float(moment) * 1000) for moment, _ in points], dtype=np.int64)
    return ResultSeries(labels, times, np.array([float(value) for _, value in points]))
