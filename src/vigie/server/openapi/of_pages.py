"""What the routes of the pages take and answer."""

from __future__ import annotations

from vigie.server.openapi.fields import BAD, OBJECTS, TIME, WHOLE
from vigie.server.openapi.words import (
    ANY,
    STRING,
    Content,
    Operation,
    Parameter,
    Schema,
    choice,
    items,
    json_of,
    record,
    refused,
)

AT = Parameter("at", "As it was then: seconds since 1970, or as RFC 3339; without it now.", TIME)
MISSING = refused("There was none of this name at that time.")
TOO_MUCH = refused("The samples could not be read, for example because they are too many.")
REFUSALS = {400: BAD, 422: TOO_MUCH}
OBJECT: Schema = {"type": "object"}
NUMBER: Schema = {"type": ["number", "null"]}
MAYBE: Schema = {"type": ["integer", "null"]}
VERDICT = record("state sentence", state=choice("ok", "warning", "critical", "unknown"), sentence=STRING)
NUMBERS = items(
    record(
        "key label value of unit state query reason",
        key=STRING,
        label=STRING,
        value=NUMBER,
        of=NUMBER,
        unit=STRING,
        state=STRING,
        query=STRING,
        reason=STRING,
    )
)
INCIDENTS = items(
    record(
        "id finding title severity summary where nodes since_ms until_ms affects action link",
        id=STRING,
        finding=STRING,
        title=STRING,
        severity=choice("critical", "warning", "info"),
        summary=STRING,
        where=OBJECT,
        nodes=items(STRING),
        since_ms=WHOLE,
        until_ms=MAYBE,
        affects=OBJECT,
        action=STRING,
        link=STRING,
    )
)


def _page(required: str, **fields: Schema) -> Content:
    """Return a content that every page has the head of."""
    if "incidents" in fields:  # it also tells whether that is all that can be found
        required, fields = f"unfinished {required}", {"unfinished": {"type": "boolean"}, **fields}
    return json_of("The page.", record(f"at_ms {required}", at_ms=WHOLE, **fields))


OPERATIONS = {
    "/api/pages/cluster": Operation(
        "Tell how the cluster is: what needs attention, how much is used, every GPU, every job.",
        _page(
            "simulated verdict numbers incidents incidents_more nodes jobs waiting",
            simulated={"type": "boolean"},
            verdict=VERDICT,
            numbers=NUMBERS,
            incidents=INCIDENTS,
            incidents_more=WHOLE,
            nodes=OBJECTS,
            jobs=OBJECTS,
            waiting=OBJECTS,
        ),
        (AT,),
        refusals=REFUSALS,
    ),
    "/api/pages/incidents": Operation(
        "List all that needs attention, or did in the last hours.",
        _page("verdict incidents", verdict=VERDICT, incidents=INCIDENTS),
        (AT,),
        refusals=REFUSALS,
    ),
    "/api/pages/jobs": Operation(
        "List jobs, with how much of what they hold works.",
        _page("verdict jobs", verdict=VERDICT, jobs=OBJECTS),
        (Parameter("state", "Only these.", choice("running", "waiting", "finished")), AT),
        refusals=REFUSALS,
    ),
    "/api/pages/jobs/{id}": Operation(
        "Tell how a job does: what it makes of its GPUs, and which rank is odd.",
        _page(
            "verdict numbers job ladder receipt ranks medians incidents free",
            verdict=VERDICT,
            numbers=NUMBERS,
            job=OBJECT,
            ladder=OBJECTS,
            receipt=items(
                record("label value unit reason", label=STRING, value=NUMBER, unit=STRING, reason=STRING)
            ),
            ranks=OBJECTS,
            medians=OBJECT,
            incidents=INCIDENTS,
            free=ANY,
        ),
        (Parameter("id", "The job's id."), AT),
        refusals={**REFUSALS, 404: MISSING},
    ),
    "/api/pages/nodes": Operation(
        "List the nodes, with what is to be said of each.",
        _page("verdict nodes", verdict=VERDICT, nodes=OBJECTS),
        (AT,),
        refusals=REFUSALS,
    ),
    "/api/pages/nodes/{name}": Operation(
        "Tell how a node is, who is on it, and how its sources went.",
        _page(
            "verdict numbers node cells who sources incidents",
            verdict=VERDICT,
            numbers=NUMBERS,
            node=OBJECT,
            cells=OBJECTS,
            who=OBJECT,
            sources=OBJECTS,
            incidents=INCIDENTS,
        ),
        (Parameter("name", "The node's name."), AT),
        refusals={**REFUSALS, 404: MISSING},
    ),
    "/api/pages/gpus/{node}/{gpu}": Operation(
        "Tell how a GPU is, and whose it was when.",
        _page(
            "verdict numbers cell info holders health siblings ranks incidents",
            verdict=VERDICT,
            numbers=NUMBERS,
            cell=OBJECT,
            info=OBJECT,
            holders=OBJECTS,
            health=OBJECT,
            siblings=OBJECTS,
            ranks=OBJECTS,
            incidents=INCIDENTS,
        ),
        (Parameter("node", "The node's name."), Parameter("gpu", "The GPU's index."), AT),
        refusals={**REFUSALS, 404: MISSING},
    ),
    "/api/pages/users": Operation(
        "List users, with what each holds, uses and waits for.",
        _page("verdict users", verdict=VERDICT, users=OBJECTS),
        (AT,),
        refusals=REFUSALS,
    ),
    "/api/pages/users/{name}": Operation(
        "Tell what a user holds, what of it is idle, and what it cost.",
        _page(
            "verdict numbers cells idle jobs days environments containers incidents",
            verdict=VERDICT,
            numbers=NUMBERS,
            cells=OBJECTS,
            idle=OBJECTS,
            jobs=OBJECTS,
            days=OBJECTS,
            environments=OBJECTS,
            containers=OBJECTS,
            incidents=INCIDENTS,
        ),
        (Parameter("name", "The user's name."), AT),
        refusals={**REFUSALS, 404: MISSING},
    ),
    "/api/search": Operation(
        "Find nodes, GPUs, jobs, users, events, metrics and pages by a few letters.",
        json_of(
            "At most 30, the best first.",
            record(
                "found",
                found=items(
                    record("kind name note link", kind=STRING, name=STRING, note=STRING, link=STRING)
                ),
            ),
        ),
        (Parameter("q", "The letters."), AT),
        refusals=REFUSALS,
    ),
    "/api/findings": Operation(
        "List the diagnoses: when each holds, what is said of it, and what is to be done.",
        json_of("Them, by name.", record("findings", findings=OBJECTS)),
    ),
}
