"""The addresses of the page, and how routes spell free text; what stands at each is for the page to say."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


class Text(Convertor[str]):
    """Whatever stands in a path: slashes as in `{...:path}`, and line ends, too."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        """Return the text as it came."""
        return value

    def to_string(self, value: str) -> str:
        """Return the text as it is."""
        return value


register_url_convertor("text", Text())

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
