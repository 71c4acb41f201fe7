"""What the server said, read so that a missing or odd field costs itself alone."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import quote

from vigie.views.text.text_width import clean


class JsonObject:
    """A JSON object of the server's answer."""

    def __init__(self, value: Any) -> None:
        self._fields: dict[str, Any] = value if isinstance(value, dict) else {}

    def __bool__(self) -> bool:
        return bool(self._fields)

    def text(self, name: str) -> str:
        """Return a field's words, made harmless, or none."""
        return _text(self._fields.get(name))

    def number(self, name: str) -> float | None:
        """Return a field's number, or None where there is none."""
        value = self._fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value) if abs(value) < 1e300 and math.isfinite(value) else None

    def flag(self, name: str) -> bool | None:
        """Return whether a field holds, or None where that is not known."""
        value = self._fields.get(name)
        return value if isinstance(value, bool) else None

    def part(self, name: str) -> JsonObject:
        """Return an object within, empty where there is none."""
        return JsonObject(self._fields.get(name))

    def parts(self, name: str) -> list[JsonObject]:
        value = self._fields.get(name)
        return (
            [JsonObject(entry) for entry in value if isinstance(entry, dict)]
            if isinstance(value, list)
            else []
        )

    def texts(self, name: str) -> list[str]:
        """Return the words of a list."""
        value = self._fields.get(name)
        return [text for entry in value if (text := _text(entry))] if isinstance(value, list) else []

    def pairs(self) -> list[tuple[str, str]]:
        """Return the names and words of all fields that have some."""
        return [(clean(name), text) for name, value in self._fields.items() if (text := _text(value))]


def route(kind: str, *names: str) -> str:
    """Return the route of a page, as the web page's own addresses have it."""
    return "/".join((kind, *(quote(name, safe="") for name in names)))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return clean(value)
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
