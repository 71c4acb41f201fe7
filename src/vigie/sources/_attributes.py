"""Reads numbers, label values and options from sysfs attributes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import Pattern
from typing import Optional

from vigie.model import Metric
from vigie.sources.core.host import Host
from vigie.sources.core.source import SourceOption
from vigie.sources.core.tree import LIMIT, parse_number, to_printable

MAX_MEMBERS = 4096
SEARCH_INTERVAL_READS = 60
NOTHING = "(?!)"


def read_measure(host: Host, path: str, divisor: int = 1, least: float = -LIMIT) -> float | None:
    """Return the number in an attribute, or None. Anything else is noted."""
    text = host.sys.read_text(path)
    if text is None:
        return None
    value = parse_number(text)
    if value is None or value < least:
        host.note(f"/sys/{path}", f"invalid number {text[:32]!r}")
        return None
    return value if divisor == 1 else value / divisor


def read_count(host: Host, path: str) -> float | None:
    """Return the counter in an attribute, or None. A counter is never negative."""
    return read_measure(host, path, 1, 0)


def parse_counters(words: Sequence[str]) -> list[int]:
    """Parse unsigned 64-bit numbers, or raise ValueError."""
    try:
        values = [int(word) for word in words]
    except ValueError:
        values = [-1]
    if values and not (min(values) >= 0 and max(values) < LIMIT):
        raise ValueError(f"invalid counters: {' '.join(words)[:64]}")
    return values


def read_label(host: Host, path: str) -> str:
    """Return an attribute as a label value, or an empty string."""
    return to_printable(host.sys.read_text(path) or "")


def should_search(host: Host) -> bool:
    """Return True at the first read and periodically, to look again at what rarely changes."""
    reads = host.cache["reads"] = host.cache.get("reads", -1) + 1
    return bool(reads % SEARCH_INTERVAL_READS == 0)


def compile_option(host: Host, option: SourceOption) -> Pattern[str]:
    """Return the regular expression of an option. An empty one matches nothing."""
    key = f"pattern {option.name}"
    if key not in host.cache:
        host.cache[key] = re.compile(host.options.get(option.name, option.default) or NOTHING)
    compiled: Pattern[str] = host.cache[key]
    return compiled


class AttributeFamily(dict[str, Optional[Metric]]):
    """Metrics expanded from a name with `*`, each created once. None for a word that fits in no name."""

    def __init__(self, row: Metric) -> None:
        super().__init__()
        self.row = row

    def __missing__(self, word: str) -> Metric | None:
        clean = word.replace("-", "_")
        fits = bool(clean) and clean.isascii() and f"_{clean}".isidentifier()
        metric = self.row.expand(clean) if fits else None
        if len(self) < MAX_MEMBERS:
            self[word] = metric
        return metric
