"""/api/v1/targets: what is scraped, and how that goes, as Prometheus tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from vigie.common.redaction import redact_url
from vigie.server.api.prometheus import json_encoder
from vigie.server.http.requests import read_parameters
from vigie.server.http.responses import respond
from vigie.server.scrape.config import ScrapeConfig
from vigie.server.scrape.scrape_loop import TargetHealth
from vigie.server.scrape.target import PATH, SCHEME, Target

NEVER = "0001-01-01T00:00:00Z"


class ActiveTargets:
    """Answers with the targets; none is ever dropped, as all that is registered is scraped."""

    def __init__(
        self,
        targets: Callable[[], Iterable[Target]],
        states: Callable[[], Mapping[str, TargetHealth]],
        rules: ScrapeConfig,
    ) -> None:
        self._targets, self._states, self._rules = targets, states, rules

    async def answer(self, request: Request) -> Response:
        """Answer the targets; the parameters state and scrapePool choose among them."""
        parameters = await read_parameters(request)
        state, pool = parameters.one("state").lower(), parameters.one("scrapePool")
        states = self._states()
        active = [
            self._describe(target, states.get(target.url, TargetHealth()))
            for target in self._targets()
            if state in ("", "any", "active") and pool in ("", target.labels["job"])
        ]
        return respond(json_encoder.document({"activeTargets": active, "droppedTargets": []}), request)

    def _describe(self, target: Target, state: TargetHealth) -> dict[str, Any]:
        url = redact_url(target.url)
        interval, timeout = f"{self._rules.interval:g}s", f"{self._rules.timeout:g}s"
        discovered = {
            "__address__": target.address,
            PATH: target.path,
            SCHEME: target.scheme,
            "__scrape_interval__": interval,
            "__scrape_timeout__": timeout,
        }
        return {
            "discoveredLabels": {**discovered, **target.labels},
            "labels": dict(target.labels),
            "scrapePool": target.labels["job"],
            "scrapeUrl": url,
            "globalUrl": url,
            "lastError": state.error,
            "lastScrape": _date(state.time_ms),
            "lastScrapeDuration": state.seconds,
            "health": state.health,
            "scrapeInterval": interval,
            "scrapeTimeout": timeout,
        }


def _date(time_ms: int) -> str:
    if not time_ms:
        return NEVER
    return (
        datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


NOTHING_SCRAPED = ActiveTargets(tuple, dict, ScrapeConfig())
