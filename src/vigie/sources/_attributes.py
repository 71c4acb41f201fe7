"""What a machine's files say, made fit to be exposed: numbers, label values, names, options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import Pattern
from typing import Optional

from vigie.model import Metric
from vigie.sources.core.host import Host
from vigie.sources.core.source import SourceOption
from vigie.sources.core.tree import LIMIT, parse_number, to_printable

MOST_MEMBERS = 4096
READS_BETWEEN_LOOKS = 60
NOTHING = "(?!)"


def measure(host: Host, path: str, divisor: int = 1, least: float = -LIMIT) -> float | None:
    """Return the number in an attribute of sysfs, or None; what is not a number is noted."""
    text = host.sys.read_text(path)
    if text is None:
        return None
    value = parse_number(text)
    if value is None or value < least:
        host.note(f"/sys/{path}", f"{text[:32]!r} is not a sensible number")
        return None
    return value if divisor == 1 else value / divisor


def count(host: Host, path: str) -> float | None:
    """Return the count in an attribute of sysfs, or None; a count is never below nothing."""
    return measure(host, path, 1, 0)


def unsigned(words: Sequence[str]) -> list[int]:
    """Return the words as unsigned 64-bit numbers, or raise ValueError."""
    try:
        values = [int(word) for word in words]
    except ValueError:
        values = [-1]
    if values and not (min(values) >= 0 and max(values) < LIMIT):
        raise ValueError(f"not all of these are counts: {' '.join(words)[:64]}")
    return values


def label(host: Host, path: str) -> str:
    """Return the text of an attribute of sysfs as a label value; empty when it cannot be had."""
    return to_printable(host.sys.read_text(path) or "")


def look_again(host: Host) -> bool:
    """Tell, at the first read and now and then, that what hardly ever changes is to be looked at."""
    reads = host.cache["reads"] = host.cache.get("reads", -1) + 1
    return bool(reads % READS_BETWEEN_LOOKS == 0)


def pattern(host: Host, option: SourceOption) -> Pattern[str]:
    """Return the regular expression that the option holds; an empty one matches nothing."""
    key = f"pattern {option.name}"
    if key not in host.cache:
        host.cache[key] = re.compile(host.options.get(option.name, option.default) or NOTHING)
    compiled: Pattern[str] = host.cache[key]
    return compiled


class AttributeFamily(dict[str, Optional[Metric]]):
    """The members of an open-ended row, made once each; a word that fits in no name has none."""

    def __init__(self, row: Metric) -> None:
        super().__init__()
        self.row = row

    def __missing__(self, word: str) -> Metric | None:
        clean = word.replace("-", "_")
        fits = clean.isascii() and f"_{clean}".isidentifier()
        metric = self.row.expand(clean) if fits else None
        if len(self) < MOST_MEMBERS:
            self[word] = metric
        return metric
