"""The addresses of the page; what stands at each is for the page itself to say."""

from __future__ import annotations

ADDRESSES = (
    "/",
    "/jobs",
    "/job/{id:path}",
    "/nodes",
    "/node/{name}",
    "/gpu/{node}/{gpu:path}",
    "/users",
    "/user/{name:path}",
    "/events",
    "/dashboards",
    "/dashboard/{slug}",
    "/explore",
    "/vigie",
)
ASSET = "/assets/{name}"
ICON = "/icon.svg"
