"""The contract of a source: a name, a table of metrics, one `read`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable, NamedTuple

from vigie.model import Metric, Sample
from vigie.sources._host import Host


class Unavailable(Exception):
    """What the source reads is not on this machine; the message says why."""


class Option(NamedTuple):
    """A setting of one source, as `[source.NAME]` in the configuration file."""

    name: str
    default: str
    help: str


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
    options: tuple[Option, ...] = ()
