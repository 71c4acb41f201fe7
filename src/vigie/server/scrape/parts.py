"""Foreign exporters, all of it together: registered, scraped, listed, and passed on to a Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.routing import BaseRoute, Route

from vigie.model import Table
from vigie.server.http import answered
from vigie.server.scrape.active_targets import ActiveTargets
from vigie.server.scrape.discovery import Discovery, FileSd, Listing
from vigie.server.scrape.elsewhere import AlsoElsewhere, PassOn
from vigie.server.scrape.families import Family
from vigie.server.scrape.registration import Registration
from vigie.server.scrape.rules import Rules
from vigie.server.scrape.scraper import Scraper, Store
from vigie.server.scrape.targets import Targets

FILE = "targets.sqlite"
FILE_SD = "targets.yaml"


class Scraping:
    """Begins when it is made, and ends with `close`."""

    def __init__(
        self,
        data: Path,
        store: Store,
        rules: Rules,
        clock: Callable[[], int],
        age_ms: int,
        *,
        agents: Listing = tuple,
        file_sd: Path | None = None,
        pass_on: PassOn | None = None,
    ) -> None:
        """Take where state is kept, what stores, how to scrape, what lists agents, and where else it goes."""
        self.targets = Targets(data / FILE)
        self._discovery = Discovery(self.targets.all, agents)
        taking = AlsoElsewhere(store, pass_on) if pass_on else store
        self._scraper = Scraper(self.targets, taking, rules, clock, age_ms)
        self.active = ActiveTargets(self.targets.all, self._scraper.states, rules)
        self._file_sd = FileSd(file_sd or data / FILE_SD, self._discovery)
        self.targets.watch(self._file_sd.refresh)

    def close(self) -> None:
        """End; the targets are there again next time."""
        self._file_sd.close()
        self._scraper.close()
        self.targets.close()

    def table(self) -> tuple[Table, tuple[float, ...]]:
        """Return what the scraper says of itself."""
        return self._scraper.table()

    def families(self) -> Mapping[str, Family]:
        """Return what the exporters say about their metrics."""
        return self._scraper.families()

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        registration = Registration(self.targets)
        return [
            Route("/add_node", answered(registration.add), methods=["POST"]),
            Route("/remove_node", answered(registration.remove), methods=["POST"]),
            Route("/sd/prometheus", answered(self._discovery.answer), methods=["GET"]),
        ]
