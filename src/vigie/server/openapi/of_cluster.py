"""What the routes about nodes, events, workloads and exporters take and answer."""

from __future__ import annotations

from vigie.server.openapi.fields import BAD, COUNTS, DURATION, LABELS, OBJECTS, TIME, WHOLE
from vigie.server.openapi.words import (
    STRING,
    Content,
    Operation,
    Parameter,
    choice,
    items,
    json_of,
    record,
    refused,
    text_of,
)

NODE = record("name state labels missing", name=STRING, state=STRING, labels=LABELS, missing=items(STRING))
EVENT = record(
    "id node kind begin_ms what where severity",
    id=WHOLE,
    node=STRING,
    kind=STRING,
    begin_ms=WHOLE,
    end_ms={"type": ["integer", "null"]},
    what=STRING,
    where=LABELS,
    severity=STRING,
)
MISSING = refused("There is none of this name.")
UNWILLING = refused("The node does not do it, and says why.")
AWAY = refused("The node is not connected, or gives no answer.")
DETAIL = record("detail", detail=STRING)
REGISTERED = json_of("It is so.", record("message", message=STRING))
PAGED = "Them; `next` is there while there is more."
HOLDING = (
    Parameter("node", "Only on this node."),
    Parameter("gpu", "Only this device."),
    Parameter("user", "Only of this user."),
    Parameter("job", "Only of this job."),
    Parameter("kind", "Only of this kind, such as job."),
    Parameter("from", "From when on: seconds since 1970, or as RFC 3339.", TIME),
    Parameter("to", "Until when: seconds since 1970, or as RFC 3339.", TIME),
)
PAGE = (
    Parameter("limit", "How many at most.", {"type": "integer", "minimum": 1, "maximum": 1000}),
    Parameter("before", "Go on with the `next` of an answer."),
)


def _refusals(**said: str) -> dict[int, Content]:
    return {int(status.removeprefix("s")): json_of(what, DETAIL) for status, what in said.items()}


OPERATIONS = {
    "/api/nodes": Operation(
        "List the nodes.",
        json_of("Them, by name.", record("nodes", nodes=items(NODE))),
        (
            Parameter(
                "state",
                "Only those; without it all but the removed.",
                choice("added", "up", "late", "lost", "stopped", "removed"),
            ),
        ),
    ),
    "/api/nodes/{name}": Operation(
        "Tell what is known of a node.",
        json_of("It.", NODE),
        (Parameter("name", "The node's name."),),
        refusals={404: MISSING},
    ),
    "POST /api/nodes/{name}": Operation(
        "Expect a node, one that was removed too, and make a key for it.",
        json_of("Whom, and what its agent has to show.", record("added key", added=STRING, key=STRING)),
        (Parameter("name", "The node's name."),),
        refusals={400: BAD},
    ),
    "DELETE /api/nodes/{name}": Operation(
        "Remove a node; its keys are void.",
        json_of("Whom.", record("removed", removed=STRING)),
        (Parameter("name", "The node's name."),),
        refusals={404: MISSING},
    ),
    "POST /api/nodes/{name}/gpus/{do}": Operation(
        "Have a node let go of its GPUs' driver for a while, or take it again.",
        json_of("What the node says.", record("node said", node=STRING, said=STRING)),
        (
            Parameter("name", "The node's name."),
            Parameter("do", "What.", choice("release", "take")),
            Parameter("for", "For how long, such as 10m (the default); at most 7d.", DURATION),
        ),
        refusals={400: BAD, 404: MISSING, 409: UNWILLING, 503: AWAY},
    ),
    "/api/events": Operation(
        "List what happened, the newest first.",
        json_of(
            "Events; `next` is there while there is more, `last` is the newest number.",
            record("events last", events=items(EVENT), last=WHOLE, next=STRING),
        ),
        (
            Parameter("node", "Only of this node."),
            Parameter("kind", "Only of this kind, such as node_lost."),
            Parameter("severity", "Only these."),
            Parameter("since", "From when on: seconds since 1970, or as RFC 3339.", TIME),
            Parameter("until", "Until when: seconds since 1970, or as RFC 3339.", TIME),
            *PAGE,
            Parameter("after", "Only what came or changed since the `last` of an answer.", COUNTS),
        ),
        refusals={400: BAD},
    ),
    "/api/bindings": Operation(
        "List who holds or held which device.",
        json_of(PAGED, record("bindings", bindings=OBJECTS, next=STRING)),
        (*HOLDING, Parameter("state", "Only these.", choice("held", "ended")), *PAGE),
        refusals={400: BAD},
    ),
    "/api/jobs": Operation(
        "List jobs, with what they hold or held.",
        json_of(PAGED, record("jobs", jobs=OBJECTS, next=STRING)),
        (*HOLDING, Parameter("state", "Only these."), *PAGE),
        refusals={400: BAD},
    ),
    "/api/users": Operation(
        "List users, with the hours of GPUs that they held in a span: a week up to now, unless it is given.",
        json_of(PAGED, record("users", users=OBJECTS, next=STRING)),
        (*HOLDING, Parameter("state", "Only these.", choice("held", "ended")), *PAGE),
        refusals={400: BAD},
    ),
    "/api/dashboards": Operation(
        "List the dashboards.",
        json_of(
            "Them, by title.",
            record(
                "dashboards",
                dashboards=items(
                    record("slug title sentence", slug=STRING, title=STRING, sentence=STRING),
                ),
            ),
        ),
    ),
    "/api/dashboards/{slug}": Operation(
        "Give a dashboard: its sections of panels, with their questions in PromQL.",
        json_of(
            "It; variables stand in PromQL as `$name`, to be put in as patterns.",
            record(
                "slug title sentence sections variables listed",
                slug=STRING,
                title=STRING,
                sentence=STRING,
                sections=items(record("title panels", title=STRING, panels=OBJECTS)),
                variables=OBJECTS,
                listed={"type": "boolean"},
            ),
        ),
        (Parameter("slug", "Its name in addresses."),),
        refusals={404: MISSING},
    ),
    "/add_node": Operation(
        "Register exporters of a node; they are scraped from now on.",
        REGISTERED,
        body=json_of(
            "Addresses that share labels.", record("labels targets", labels=LABELS, targets=items(STRING))
        ),
        refusals=_refusals(
            s400="An address or a label cannot be used.",
            s409="It is registered with other labels elsewhere.",
            s413="It is larger than is taken.",
            s422="It is no such body.",
        ),
    ),
    "/remove_node": Operation(
        "Forget all exporters of a node; an unknown one is no error.",
        REGISTERED,
        body=json_of("The node's address.", record("ip", ip=STRING)),
        refusals=_refusals(
            s400="There is no address.", s413="It is larger than is taken.", s422="It is no such body."
        ),
    ),
    "/sd/prometheus": Operation(
        "List what can be scraped, for http_sd_configs of a Prometheus.",
        json_of("Targets.", items(record("targets labels", targets=items(STRING), labels=LABELS))),
    ),
    "/link": Operation(
        "The agents' way in: a WebSocket with binary messages. Without an upgrade there is nothing here.",
        Content("The connection is a WebSocket now.", {}),
        refusals={404: text_of("This was no WebSocket.")},
        status=101,
    ),
}
