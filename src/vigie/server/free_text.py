"""How routes spell free text, `{name:text}`; importing this is enough."""

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
