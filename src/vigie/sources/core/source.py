"""The interface of a source: a name, metrics, and one `read`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Callable, NamedTuple

from vigie.model import Metric, Sample
from vigie.sources.core.host import Host


class Unavailable(Exception):
    """The source has nothing to read on this machine; the message says why."""


def check_regex(text: str) -> None:
    """Raise ValueError unless the text is a regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"use a regular expression: {error}") from None


def check_seconds(text: str) -> None:
    """Raise ValueError unless the text is a positive number."""
    if not text.replace(".", "", 1).isdecimal() or not float(text):
        raise ValueError("use a number of seconds above 0")


class SourceOption(NamedTuple):
    """A setting in `[source.NAME]` of the configuration file.

    `check` raises ValueError for an invalid value.
    """

    name: str
    default: str
    help: str
    check: Callable[[str], object] = str


class Source(NamedTuple):
    """Reads one thing.

    Quick sources are read at every scrape, `slow` ones only at their own interval, on a separate lane.
    `every` is the minimum number of seconds between timed reads (0: the agent's interval). `default` is
    False if the source must be enabled.
    """

    name: str
    metrics: tuple[Metric, ...]
    read: Callable[[Host], Iterable[Sample]]
    slow: bool = False
    every: float = 0
    default: bool = True
    options: tuple[SourceOption, ...] = ()
