"""The addresses of the page; what stands at each is for the page itself to say."""

from __future__ import annotations

ADDRESSES = (
    "/",
    "/jobs",
    "/job/{id:text}",
    "/nodes",
    "/node/{name}",
    "/gpu/{node}/{gpu:text}",
    "/users",
    "/user/{name:text}",
    "/events",
    "/dashboards",
    "/dashboard/{slug}",
    "/explore",
    "/vigie",
)
ASSET = "/assets/{name}"
ICON = "/icon.svg"
