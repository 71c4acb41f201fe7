"""What the routes of Prometheus's API take and answer."""

from __future__ import annotations

from vigie.server.openapi.fields import ASKING, BAD, COUNTS, DURATION, LABELS, OBJECTS, TIME
from vigie.server.openapi.words import (
    ANY,
    STRING,
    Content,
    Operation,
    Parameter,
    Schema,
    choice,
    data_of,
    items,
    record,
    text_of,
)

QUERY = Parameter("query", "The question, in PromQL.", {"type": "string", "format": "promql"}, required=True)
TIMEOUT = Parameter("timeout", "How long it may take, such as 30s.", DURATION)
LOOKBACK = Parameter("lookback_delta", "How old a sample may be that still counts, such as 5m.", DURATION)
STATS = Parameter("stats", "Anything: tell what the question cost.")
LIMIT = Parameter("limit", "How many results at most; 0 for all.", COUNTS)
START = Parameter("start", "From when on: seconds since 1970, or as RFC 3339.", TIME)
END = Parameter("end", "Until when: seconds since 1970, or as RFC 3339.", TIME)
SELECTOR: Schema = {"type": "string", "format": "promql-selector"}
MATCH = Parameter("match[]", 'Which series, such as up{job="node"}; may be repeated.', SELECTOR, many=True)
NAME = Parameter("name", "The label; U__ begins one with letters that a path cannot hold.")
LOOK = (MATCH, START, END, LIMIT)
RESULT = data_of(
    "The result.",
    record(
        "resultType result",
        resultType=choice("matrix", "vector", "scalar", "string"),
        result={"type": "array"},
        stats={"type": "object"},
    ),
)
WORDS = data_of("The words, sorted.", items(STRING))

OPERATIONS = {
    "/api/v1/query": Operation(
        "Answer a query at one time.",
        RESULT,
        (QUERY, Parameter("time", "When; now unless it is given.", TIME), TIMEOUT, LOOKBACK, LIMIT, STATS),
        refusals=ASKING,
    ),
    "/api/v1/query_range": Operation(
        "Answer a query at every step of a span.",
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
        refusals=ASKING,
    ),
    "/api/v1/query_exemplars": Operation(
        "Answer that there are no exemplars.",
        data_of("None.", items(ANY)),
        (QUERY, START, END),
        refusals=ASKING,
    ),
    "/api/v1/format_query": Operation(
        "Spell a query as usual.", data_of("The query.", STRING), (QUERY,), refusals=ASKING
    ),
    "/api/v1/parse_query": Operation(
        "Parse a query, where the engine of server.store can.",
        data_of("Its tree.", {"type": "object"}),
        (QUERY,),
        refusals=ASKING,
    ),
    "/api/v1/series": Operation(
        "List the series that fit.",
        data_of("Their labels.", items(LABELS)),
        (MATCH._replace(required=True), START, END, LIMIT),
        refusals=ASKING,
    ),
    "/api/v1/labels": Operation("List the names of labels.", WORDS, LOOK, refusals=ASKING),
    "/api/v1/label/{name:text}/values": Operation(
        "List the values of a label.", WORDS, (NAME, *LOOK), refusals=ASKING
    ),
    "/api/v1/metadata": Operation(
        "Tell kind, help and unit of metrics.",
        data_of("By name.", {"type": "object", "additionalProperties": OBJECTS}),
        (
            Parameter("metric", "Only this one."),
            LIMIT,
            Parameter("limit_per_metric", "How many for each; there is one.", COUNTS),
        ),
        refusals=ASKING,
    ),
    "/api/v1/targets": Operation(
        "List the exporters that are scraped, and how that goes.",
        data_of("Them.", record("activeTargets", activeTargets=OBJECTS, droppedTargets=OBJECTS)),
        (
            Parameter("state", "Which.", choice("active", "dropped", "any")),
            Parameter("scrapePool", "Only those of this job."),
        ),
    ),
    "/api/v1/rules": Operation(
        "List the rules.",
        data_of("Them, in groups.", record("groups", groups=OBJECTS)),
        (Parameter("type", "Only these.", choice("alert", "record")),),
        refusals={400: BAD},
    ),
    "/api/v1/alerts": Operation("List the alerts.", data_of("Them.", record("alerts", alerts=OBJECTS))),
    "/api/v1/status/buildinfo": Operation("Tell which Prometheus this speaks as.", data_of("Words.", LABELS)),
    "/api/v1/status/runtimeinfo": Operation(
        "Tell how the process is doing.", data_of("Facts.", {"type": "object"})
    ),
    "/api/v1/status/flags": Operation("List the settings.", data_of("By name.", LABELS)),
    "/api/v1/status/config": Operation(
        "Answer that there is no configuration of Prometheus.", data_of("It.", record("yaml", yaml=STRING))
    ),
    "/api/v1/status/tsdb": Operation(
        "Tell which names and labels have the most series.",
        data_of("Counts.", {"type": "object"}),
        (Parameter("limit", "How many of each.", COUNTS),),
        refusals=ASKING,
    ),
    "/api/v1/write": Operation(
        "Take samples by Prometheus remote write 1.0.",
        Content("All of it is stored and synced.", {}),
        body=Content(
            "A WriteRequest, compressed by snappy.",
            {"application/x-protobuf": {"type": "string", "format": "binary"}},
        ),
        refusals={
            400: text_of("Not stored, wholly or in part; do not send it again."),
            404: text_of("This server takes none: see server.store_write."),
            413: text_of("It is larger than is taken."),
            415: text_of("It is not remote write 1.0."),
            429: text_of("Too much at once; see Retry-After."),
            503: text_of("It cannot be stored now; see Retry-After."),
        },
        status=204,
    ),
    "/federate": Operation(
        "Give the newest samples of the series that fit, as text for another Prometheus.",
        text_of("An exposition."),
        (MATCH,),
        refusals=ASKING,
    ),
}
