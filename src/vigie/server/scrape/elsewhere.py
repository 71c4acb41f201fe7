"""Stores what is scraped, and passes it on to where everything else goes, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from vigie.model import Frame
from vigie.server.scrape.scraper import Store
from vigie.store.heads.loose import Samples


class PassOn(Protocol):
    """Where else it goes."""

    def write_frame(self, target: Mapping[str, str], frame: Frame) -> None:
        """Take a frame of a target, by its labels."""

    def write_series(self, series: Iterable[Samples]) -> None:
        """Take series with times of their own."""


class AlsoElsewhere:
    """A store that passes on what it has taken."""

    def __init__(self, store: Store, pass_on: PassOn) -> None:
        self._store, self._pass_on = store, pass_on

    def append(self, node_labels: Mapping[str, str], frame: Frame) -> None:
        """Take a frame of a target."""
        self._store.append(node_labels, frame)
        self._pass_on.write_frame(node_labels, frame)

    def append_series(self, series: Iterable[Samples]) -> None:
        """Take series with times of their own."""
        samples = list(series)
        self._store.append_series(samples)
        self._pass_on.write_series(samples)

    def sync(self) -> None:
        """Return when everything appended before survives."""
        self._store.sync()
