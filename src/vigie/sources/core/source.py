"""The contract of a source: a name, a table of metrics, one `read`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Callable, NamedTuple

from vigie.model import Metric, Sample
from vigie.sources.core.host import Host


class Unavailable(Exception):
    """What the source reads is not on this machine; the message says why."""


def check_regex(text: str) -> None:
    """Refuse, with ValueError, what is no regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"use a regular expression: {error}") from None


def check_seconds(text: str) -> None:
    """Refuse, with ValueError, what is no time to wait."""
    if not text.replace(".", "", 1).isdecimal() or not float(text):
        raise ValueError("use a number of seconds above 0")


class SourceOption(NamedTuple):
    """A setting of one source, as `[source.NAME]` in the configuration file.

    `check` raises ValueError for a value that the source could not use.
    """

    name: str
    default: str
    help: str
    check: Callable[[str], object] = str


class Source(NamedTuple):
    """Reads one thing.

    Quick sources are read at every scrape; `slow` ones only at their own cadence, in a lane of
    their own. `every` is the least number of seconds between two timed reads (0: the agent's
    cadence). `default` is False for what has to be asked for.
    """

    name: str
    metrics: tuple[Metric, ...]
    read: Callable[[Host], Iterable[Sample]]
    slow: bool = False
    every: float = 0
    default: bool = True
    options: tuple[SourceOption, ...] = ()
