"""Scrapes all targets, in a thread of its own, so that nobody waits for the disk or a slow exporter."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

from vigie.common.endpoint import TlsOptions
from vigie.common.redaction import redact_url
from vigie.model import Table
from vigie.server.ingest.metadata import MetricMetadata
from vigie.server.metrics import SCRAPE_TABLE, ScrapeMetrics
from vigie.server.scrape.appender import ScrapeStore
from vigie.server.scrape.config import ScrapeConfig
from vigie.server.scrape.scrape_loop import ScrapeContext, TargetHealth, TargetLoop
from vigie.server.scrape.series_cache import ScrapeCache
from vigie.server.scrape.target import Target
from vigie.store.errors import StoreError

log = logging.getLogger(__name__)

SYNC_SECONDS = 1.0
END_SECONDS = 3.0
LOOK_UPS = 64


class TargetSource(Protocol):
    """What is to be scraped, and who wants to know when that changes."""

    def all(self) -> Iterable[Target]: ...

    def watch(self, changed: Callable[[], None]) -> None:
        """Call this after each change, from any thread."""


class _Running(NamedTuple):
    loop: TargetLoop
    task: asyncio.Task[None]


class Scraper:
    """Begins when it is made, and ends with `close`."""

    def __init__(
        self,
        targets: TargetSource,
        store: ScrapeStore,
        rules: ScrapeConfig,
        clock: Callable[[], int],
        age_ms: int,
    ) -> None:
        self._targets, self._store, self._rules = targets, store, rules
        tls = functools.cache(rules.tls.context)  # dear, and most clusters do without
        if rules.tls != TlsOptions():
            tls()  # so that a missing file is told at once
        self._shared = ScrapeContext(store, rules, clock, ScrapeCache(), tls, age_ms, ScrapeMetrics())
        self._running: dict[str, _Running] = {}
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Event()
        self._closing = False
        targets.watch(self._wake)
        self._thread = threading.Thread(target=self._run, name="scraper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End; series are not ended, as after a restart they go on."""
        self._closing = True
        self._wake()
        self._thread.join(END_SECONDS)  # nothing is scraped any more, but a name may still be looked up

    def states(self) -> Mapping[str, TargetHealth]:
        """Return how the last scrape of each target went, by its address."""
        return {url: running.loop.state for url, running in list(self._running.items())}

    def table(self) -> tuple[Table, tuple[float, ...]]:
        return SCRAPE_TABLE, self._shared.counts.values(state.health for state in self.states().values())

    def families(self) -> Mapping[str, MetricMetadata]:
        return self._shared.catalogue.described.families

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._changed.set)
        except RuntimeError:
            pass  # it has ended meanwhile

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._follow())
        except Exception:  # nobody joins this thread before the end, so the log must say it
            log.exception("the scraper ended")

    async def _follow(self) -> None:
        # Names are looked up in threads; many that cannot be found must not keep the others waiting.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(LOOK_UPS))
        syncing = asyncio.create_task(self._sync_now_and_then())
        try:
            self._adjust(at_once=False)
            while not self._closing:
                await self._changed.wait()
                self._changed.clear()
                self._adjust(at_once=True)
        finally:
            tasks = [syncing, *(running.task for running in self._running.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _adjust(self, at_once: bool) -> None:
        """Begin with new targets, and end those that are gone or have other labels."""
        wanted = {target.url: target for target in self._targets.all()}
        for url, running in list(self._running.items()):
            if wanted.get(url) != running.loop.target:
                running.task.cancel()
                running.loop.end()
                del self._running[url]
        for url, target in wanted.items():
            if url not in self._running:
                self._begin(target, at_once)

    def _begin(self, target: Target, at_once: bool) -> None:
        try:
            loop = TargetLoop(target, self._shared)
        except Exception:  # a target that we cannot handle must not end the scraping of all
            log.exception("cannot scrape %s", redact_url(target.url))
        else:
            task = asyncio.create_task(loop.run(at_once), name=target.url)
            self._running[target.url] = _Running(loop, task)

    async def _sync_now_and_then(self) -> None:
        said = ""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            if not self._running:
                continue
            try:
                await asyncio.to_thread(self._store.sync)
                said = ""
            except StoreError as error:
                if str(error) != said:  # once a change
                    said = str(error)
                    log.error("scraped samples cannot be synced: %s", error)
