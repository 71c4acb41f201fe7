"""Scrapes one target again and again, and knows how that goes."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from vigie.common.redaction import redact_url
from vigie.server.metrics import ScrapeMetrics
from vigie.server.scrape.appender import Report, SampleSink, ScrapeAppender
from vigie.server.scrape.client import ScrapeClient, ScrapeError
from vigie.server.scrape.config import ScrapeConfig
from vigie.server.scrape.parser import ScrapedSamples, ScrapeParser
from vigie.server.scrape.series_cache import PLAIN, SOURCE, LabelPolicy, ScrapeCache
from vigie.server.scrape.target import Target
from vigie.store.errors import StoreError
from vigie.wire.exposition.line_parser import ParseError

log = logging.getLogger(__name__)

OPENMETRICS = "application/openmetrics-text"
LARGE_BYTES = 1 << 20


class TargetHealth(NamedTuple):
    health: str = "unknown"  # or up, or down
    error: str = ""
    time_ms: int = 0  # 0: there was none yet
    seconds: float = 0.0


class ScrapeContext(NamedTuple):
    sink: SampleSink
    rules: ScrapeConfig
    clock: Callable[[], int]
    catalogue: ScrapeCache
    tls: Callable[[], ssl.SSLContext]  # the same each time
    age_ms: int  # how old a sample may be
    counts: ScrapeMetrics


class TargetLoop:
    """One target's connection, parser and state."""

    def __init__(self, target: Target, shared: ScrapeContext) -> None:
        rules = shared.rules
        self.target, self.state = target, TargetHealth()
        self._rules, self._clock, self._counts = rules, shared.clock, shared.counts
        named = LabelPolicy(f"{SOURCE} {target.url}", frozenset(target.labels))
        shelf = named if rules.honor_labels else PLAIN
        self._parser = ScrapeParser(shared.catalogue, shelf, honor_times=rules.honor_times)
        self._client = ScrapeClient(rules.place(target, shared.tls), rules.most_bytes)
        self._filing = ScrapeAppender(
            target,
            shared.sink,
            shared.clock,
            shared.catalogue.layout({}, shelf),
            honor_labels=rules.honor_labels,
            age_ms=shared.age_ms,
        )
        self._dropped = 0

    async def run(self, at_once: bool) -> None:
        """Scrape until cancelled: each target has its own moment within the interval."""
        loop, interval = asyncio.get_running_loop(), self._rules.interval
        due = loop.time() + (phase(self.target) * interval - self._clock() / 1000) % interval
        try:
            if at_once:
                await self.scrape()
            while True:
                await asyncio.sleep(due - loop.time())
                await self.scrape()
                due += interval * max(1, -(-(loop.time() - due) // interval))
        finally:
            self._client.close()

    async def scrape(self) -> None:
        """Scrape once, and file the outcome."""
        time_ms, begun = self._clock(), time.perf_counter()
        self._counts.scrapes += 1
        try:
            scraped = await self._fetched()
            seconds = time.perf_counter() - begun
            count = scraped.samples
            report: Report = (1, seconds, count, count, scraped.added)
            self._filing.succeed(time_ms, report, scraped.layout, scraped.row)
            self._note_dropped(self._filing.take(scraped.timed))
            self._counts.samples += count
            self._become(TargetHealth("up", "", time_ms, seconds))
        except (ScrapeError, ParseError) as error:
            self._fail(str(error), time_ms, time.perf_counter() - begun)
        except StoreError as error:
            self._fail(f"cannot be stored: {error}", time_ms, time.perf_counter() - begun)
        except Exception as error:  # a fault of ours with this target must not end its scraping for good
            log.exception("while scraping %s", redact_url(self.target.url))
            self._become(TargetHealth("down", f"internal: {error}", time_ms, time.perf_counter() - begun))

    def end(self) -> None:
        """File that the target is scraped no more."""
        try:
            self._filing.end()
        except StoreError as error:
            log.warning("cannot end the series of %s: %s", redact_url(self.target.url), error)

    async def _fetched(self) -> ScrapedSamples:
        headers = self._rules.headers(self.target)
        try:
            async with asyncio.timeout(self._rules.timeout):
                answer = await self._client.get(headers)
        except TimeoutError:
            self._client.close()
            raise ScrapeError(f"no whole answer within {self._rules.timeout:g} s") from None
        openmetrics = answer.content_type.lower().startswith(OPENMETRICS)
        read = partial(
            self._parser.parse,
            answer.body,
            openmetrics=openmetrics,
            most=self._rules.most_samples,
            seconds=self._rules.timeout,
        )
        # What is large is read beside the other targets.
        return await asyncio.to_thread(read) if len(answer.body) > LARGE_BYTES else read()

    def _fail(self, why: str, time_ms: int, seconds: float) -> None:
        try:
            self._filing.fail(time_ms, (0, seconds, 0, 0, 0))
        except StoreError as error:
            why = f"{why}; nor can that be stored: {error}"
        self._become(TargetHealth("down", why, time_ms, seconds))

    def _become(self, state: TargetHealth) -> None:
        self._counts.failed += state.health == "down"
        if state.error and state.error != self.state.error:  # once a change
            log.warning("scraping %s: %s", redact_url(self.target.url), state.error)
        elif self.state.health == "down" and state.health == "up":
            log.info("scraping %s works again", redact_url(self.target.url))
        self.state = state

    def _note_dropped(self, count: int) -> None:
        if count and not self._dropped:
            log.warning(
                "%s gave %d samples of times out of bounds; they are left out",
                redact_url(self.target.url),
                count,
            )
        self._dropped = count


def phase(target: Target) -> float:
    """Return where in the interval a target is scraped, from 0 to 1: always the same for the same one."""
    return zlib.crc32(repr(target).encode()) / (1 << 32)
