"""YAML as we write it: plain blocks, and every text in quotes, or as it is where it has several lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

LINE = 80  # letters of a list that stands on one line
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_NOT_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))  # to YAML 1.1


def write_yaml(value: Any, note: str = "") -> str:
    """Return mappings, lists, texts and numbers as one document, under a note to whoever reads it."""
    lines = [f"# {line}" for line in note.splitlines()]
    return "\n".join([*lines, *_block(value)]) + "\n"


def _block(value: Any) -> Iterator[str]:
    if _fits_a_line(value):
        yield _inline(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entry(f"{_key(key)}:", item)
    else:
        for item in value:
            first, *rest = _block(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)


def _entry(key: str, item: Any) -> Iterator[str]:
    if _has_lines(item):
        yield f"{key} |-"
        yield from (f"  {line}" for line in item.split("\n"))
    elif _fits_a_line(item):
        yield f"{key} {_inline(item)}"
    else:
        yield key
        yield from (f"  {line}" for line in _block(item))


def _has_lines(value: Any) -> bool:
    """Tell whether a text has several lines that mean to YAML what they say."""
    if not isinstance(value, str) or "\n" not in value or value[0].isspace():
        return False
    return all(line.strip() and line.isprintable() for line in value.split("\n"))


def _fits_a_line(value: Any) -> bool:
    if isinstance(value, Mapping):
        return not value
    if not isinstance(value, list | tuple):
        return True
    if any(isinstance(item, Mapping | list | tuple) for item in value):
        return False
    return len(value) < 2 or sum(len(str(item)) for item in value) < LINE


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return quote(value) if isinstance(value, str) else str(value)


def _key(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _NOT_WORDS else quote(text)


def quote(text: str) -> str:
    """Return the text in quotes: in single ones, which need no escapes, where that is easier to read."""
    if ('"' in text or "\\" in text) and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
