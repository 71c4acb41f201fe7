"""What the scraper says of itself on the server's own /metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vigie.model import Table, counter, gauge

HEALTH = ("up", "down", "unknown")
METRICS = (
    TARGETS := gauge(
        "vigie_server_targets", "Exporters that are scraped, by how the last one went.", "health"
    ),
    SCRAPES := counter("vigie_server_scrapes_total", "Scrapes of exporters."),
    FAILED := counter("vigie_server_scrapes_failed_total", "Scrapes that failed."),
    SAMPLES := counter("vigie_server_scraped_samples_total", "Samples that scrapes brought."),
)
TABLE = Table(
    "server scrape",
    1,
    (*((TARGETS, (health,)) for health in HEALTH), (SCRAPES, ()), (FAILED, ()), (SAMPLES, ())),
)


class Counts:
    """Counts scrapes; only the scraper's thread does."""

    def __init__(self) -> None:
        self.scrapes = self.failed = self.samples = 0

    def values(self, healths: Iterable[str]) -> tuple[float, ...]:
        """Return the numbers of the table."""
        found = Counter(healths)
        return (*(found[health] for health in HEALTH), self.scrapes, self.failed, self.samples)
