"""What the routes about signing in and about the server itself take and answer."""

from __future__ import annotations

from vigie.server.http.routes import ADDRESSES, ASSET, ICON
from vigie.server.openapi.words import (
    ANY,
    FORM,
    HTML,
    JSON,
    STRING,
    TEXT,
    Content,
    Operation,
    Parameter,
    items,
    json_of,
    record,
    refused,
    text_of,
)

IDENTITY = record("role name", role=STRING, name=STRING)
NAMED = record(
    "name password", name={"type": "string", "minLength": 1}, password={"type": "string", "minLength": 1}
)
# A name with a line break is none, and one with a slash at its end is asked for without it.
NONE = {
    307: Content("The address without the slash at its end.", {}),
    404: Content("There is no such page or file.", {**refused("").forms, TEXT: STRING}),
}
PAGE = Operation(
    "Show the page.",
    Content("The page.", {HTML: STRING}),
    refusals={
        **NONE,
        503: Content("The page has not been built.", {**refused("").forms, HTML: STRING}),
    },
)
FILES = ("text/javascript", "text/css")
NOTHING = Content("Done; there is nothing to say.", {})


OPERATIONS = {
    **dict.fromkeys(ADDRESSES, PAGE),
    ASSET: Operation(
        "A file of the page.", Content("The file.", dict.fromkeys(FILES, STRING)), refusals=NONE
    ),
    ICON: Operation("The page's icon.", Content("The icon.", {"image/svg+xml": STRING}), refusals=NONE),
    "/login": Operation(
        "Show the page that asks for name and password, or sign in by a link that is used once.",
        Content("The page.", {HTML: STRING}),
        (Parameter("once", "What the link carries."),),
        refusals={
            303: Content("Signed in: the cookie is set.", {}),
            401: text_of("The link is not good any more.", HTML),
        },
    ),
    "/api/login": Operation(
        "Sign in: sets the cookie of a session.",
        json_of("Who that is.", IDENTITY),
        body=Content("Name and password.", {JSON: NAMED, FORM: NAMED}),
        refusals={
            303: Content("Signed in by the form.", {}),
            400: refused("No name, or no password."),
            401: Content("Name or password is wrong.", {**refused("").forms, HTML: STRING}),
            403: refused("The sign-in comes from a page of another server."),
            429: Content("Too many have failed; see Retry-After.", {**refused("").forms, HTML: STRING}),
            503: refused("Who you are cannot be looked up now."),
        },
    ),
    "/api/logout": Operation("Sign out.", NOTHING, status=204),
    "/api/session": Operation(
        "Tell who is signed in, and what a page should know of the server.",
        json_of(
            "Role and name; `home` is the page to begin with.",
            record(
                "role name user simulated version privacy home",
                role=STRING,
                name=STRING,
                user=STRING,
                simulated={"type": "boolean"},
                version=STRING,
                privacy=STRING,
                home=STRING,
            ),
        ),
    ),
    "/metrics": Operation(
        "What the server says of itself, as a Prometheus exposition.",
        Content("An exposition.", {TEXT: STRING, "application/openmetrics-text": STRING}),
    ),
    "/healthz": Operation("Tell that the server lives.", text_of("It does.")),
    "/readyz": Operation(
        "Tell whether the server can do its work.",
        text_of("It can."),
        refusals={503: json_of("Why it cannot.", record("ready reasons", ready=ANY, reasons=items(STRING)))},
    ),
    "/-/healthy": Operation("Tell that the server lives, as Prometheus does.", text_of("It does.")),
    "/-/ready": Operation(
        "Tell whether the server can do its work, as Prometheus does.",
        text_of("It can."),
        refusals={503: json_of("Why it cannot.", record("ready reasons", ready=ANY, reasons=items(STRING)))},
    ),
    "/api/openapi.json": Operation("This document.", json_of("OpenAPI 3.1.", {"type": "object"})),
}
