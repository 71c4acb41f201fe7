"""The routes of Prometheus's API, declared for the store of this server and for one elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.routing import BaseRoute

from vigie.server.http.responses import Handler
from vigie.server.http.routes import (
    BAD_PARAMETER,
    COUNT,
    DURATION,
    QUERY_ERRORS,
    TEXT,
    TIME,
    VIEW,
    ApiRoute,
    Content,
    Operation,
    Parameter,
    RouteAccess,
    Schema,
)
from vigie.wire.api.resources import Success

GET, BOTH = ("GET",), ("GET", "POST")
WRITER = RouteAccess("writer", changes=True)
SELECTOR: Schema = {"type": "string", "format": "promql-selector"}
QUERY = Parameter("query", "PromQL.", {"type": "string", "format": "promql"}, required=True)
TIMEOUT = Parameter("timeout", "How long it may take, such as 30s.", DURATION)
LOOKBACK = Parameter("lookback_delta", "How old a sample may be that still counts, such as 5m.", DURATION)
STATS = Parameter("stats", "Anything: add what the query cost.")
LIMIT = Parameter("limit", "How many results at most; 0 for all.", COUNT)
START = Parameter("start", "From: seconds since 1970, or RFC 3339.", TIME)
END = Parameter("end", "Until: seconds since 1970, or RFC 3339.", TIME)
MATCH = Parameter("match[]", 'Which series, such as up{job="node"}; may be repeated.', SELECTOR, many=True)
LABEL = Parameter("name", "The label; U__ begins one with letters that a path cannot hold.")
LABELS = dict[str, str]
RESULT = Success[dict[str, Any]]


def _choice(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


OPERATIONS: Mapping[str, Operation] = {
    "/api/v1/query": Operation(
        "Run a query at one time.",
        RESULT,
        (QUERY, Parameter("time", "When; by default now.", TIME), TIMEOUT, LOOKBACK, LIMIT, STATS),
        errors=QUERY_ERRORS,
    ),
    "/api/v1/query_range": Operation(
        "Run a query at every step of a range.",
        RESULT,
        (
            QUERY,
            START._replace(required=True),
            END._replace(required=True),
            Parameter("step", "Seconds, or such as 15s.", DURATION, required=True),
            TIMEOUT,
            LOOKBACK,
            LIMIT,
            STATS,
        ),
        errors=QUERY_ERRORS,
    ),
    "/api/v1/query_exemplars": Operation(
        "List exemplars: there are none.", Success[list[Any]], (QUERY, START, END), errors=QUERY_ERRORS
    ),
    "/api/v1/format_query": Operation("Format a query.", Success[str], (QUERY,), errors=QUERY_ERRORS),
    "/api/v1/parse_query": Operation(
        "Parse a query, where the engine of server.store can.", RESULT, (QUERY,), errors=QUERY_ERRORS
    ),
    "/api/v1/series": Operation(
        "List the series that match.",
        Success[list[LABELS]],
        (MATCH._replace(required=True), START, END, LIMIT),
        errors=QUERY_ERRORS,
    ),
    "/api/v1/labels": Operation(
        "List the names of labels.", Success[list[str]], (MATCH, START, END, LIMIT), errors=QUERY_ERRORS
    ),
    "/api/v1/label/{name:text}/values": Operation(
        "List the values of a label.",
        Success[list[str]],
        (LABEL, MATCH, START, END, LIMIT),
        errors=QUERY_ERRORS,
    ),
    "/api/v1/metadata": Operation(
        "List type, help and unit of metrics.",
        Success[dict[str, list[LABELS]]],
        (
            Parameter("metric", "Only this one."),
            LIMIT,
            Parameter("limit_per_metric", "How many for each; there is one.", COUNT),
        ),
        errors=QUERY_ERRORS,
    ),
    "/api/v1/targets": Operation(
        "List the exporters that are scraped, and their health.",
        Success[dict[str, list[Any]]],
        (
            Parameter("state", "Which.", _choice("active", "dropped", "any")),
            Parameter("scrapePool", "Only those of this job."),
        ),
    ),
    "/api/v1/rules": Operation(
        "List the rules.",
        Success[dict[str, list[Any]]],
        (Parameter("type", "Only these.", _choice("alert", "record")),),
        errors=BAD_PARAMETER,
    ),
    "/api/v1/alerts": Operation("List the alerts.", Success[dict[str, list[Any]]]),
    "/api/v1/status/buildinfo": Operation("Which Prometheus this behaves as.", Success[LABELS]),
    "/api/v1/status/runtimeinfo": Operation("The state of the process.", RESULT),
    "/api/v1/status/flags": Operation("List the settings.", Success[LABELS]),
    "/api/v1/status/config": Operation("The configuration of Prometheus: it is empty.", Success[LABELS]),
    "/api/v1/status/tsdb": Operation(
        "Which names and labels have the most series.",
        RESULT,
        (Parameter("limit", "How many of each.", COUNT),),
        errors=QUERY_ERRORS,
    ),
    "/api/v1/write": Operation(
        "Store samples by Prometheus remote write 1.0.",
        Content("All of it is stored and synced."),
        body=Content("A WriteRequest, compressed by snappy.", {"application/x-protobuf": bytes}),
        errors={
            400: Content("Not stored, wholly or in part; do not send it again.", {TEXT: str}),
            404: Content("This server takes none: see server.store_write.", {TEXT: str}),
            413: Content("The body is too large.", {TEXT: str}),
            415: Content("It is not remote write 1.0.", {TEXT: str}),
            429: Content("Too much at once; see Retry-After.", {TEXT: str}),
            503: Content("It cannot be stored now; see Retry-After.", {TEXT: str}),
        },
        status=204,
    ),
    "/federate": Operation(
        "The newest samples of the series that match, as text for another Prometheus.",
        Content("An exposition.", {TEXT: str}),
        (MATCH,),
        errors=QUERY_ERRORS,
    ),
}


def build_routes(
    handlers: Mapping[str, Handler], methods: Sequence[str] = GET, access: RouteAccess = VIEW
) -> list[BaseRoute]:
    """Return a route for each path below /api/v1, or of its own if it begins with a slash."""
    paths = {
        path if path.startswith("/") else f"/api/v1/{path}": handler for path, handler in handlers.items()
    }
    return [
        ApiRoute(path, handler, OPERATIONS[path], methods=methods, access=access)
        for path, handler in paths.items()
    ]
