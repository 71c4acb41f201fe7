"""/api/v1/metadata: kind, help and unit of metrics, from whoever declares or brings them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from vigie.agent import holding, outcomes, process
from vigie.agent import own as agent_own
from vigie.agent.events import happenings
from vigie.agent.link import own as agent_link
from vigie.model import Metric
from vigie.query.budget import Limits
from vigie.query.storage import Storage
from vigie.server import own, queues, traffic
from vigie.server.access import own as access
from vigie.server.api import encode
from vigie.server.api.parameters import EARLIEST, LATEST
from vigie.server.api.work import EVERYTHING
from vigie.server.described import families_of, family_of, joined
from vigie.server.http import packed
from vigie.server.link import own as links
from vigie.server.link import session
from vigie.server.scrape import counts, filing
from vigie.server.scrape.families import Family
from vigie.sinks import _remote_write_metrics
from vigie.sources import _containers, _genv, _slurm, _triton
from vigie.sources._registry import built_in

# What is declared elsewhere than by a source; a later one goes before an earlier one.
OTHERS: tuple[tuple[Metric, ...], ...] = (
    _containers.METRICS, _genv.METRICS, _slurm.METRICS, _triton.METRICS, _remote_write_metrics.METRICS,
    agent_own.METRICS, holding.METRICS, outcomes.METRICS, happenings.METRICS, agent_link.METRICS,
    process.METRICS, own.METRICS, queues.METRICS, traffic.METRICS, access.METRICS, links.METRICS,
    counts.METRICS, filing.METRICS, session.METRICS,
)  # fmt: skip
ANYTHING = "*"  # the name under which a source declares what others write into its files


def metadata(
    name: str,
    limit: int | None,
    brought: Mapping[str, Family],
    gzip: bool,
    storage: Storage,
    _: Limits,
) -> bytes:
    """Return what is known of one metric, or of all, as Prometheus answers it."""
    stored = storage.label_values("__name__", EVERYTHING, EARLIEST, LATEST)
    known = joined(dict(_meant(stored)), _declared(), brought)
    if name:
        known = {name: known[name]} if name in known else {}
    rows = {
        metric: [{"type": kind, "help": text, "unit": unit}] for metric, (kind, text, unit) in known.items()
    }
    return packed(encode.document(dict(list(rows.items())[:limit])), gzip)


@cache
def _all() -> tuple[Metric, ...]:
    sources = [metric for source in built_in() for metric in source.metrics]
    return (*sources, *(metric for metrics in OTHERS for metric in metrics))


@cache
def _declared() -> dict[str, Family]:
    return families_of(metric for metric in _all() if "*" not in metric.name)


def _meant(stored: Sequence[str]) -> Iterator[tuple[str, Family]]:
    """Yield the stored names that a declaration with a `*` means."""
    for metric in _all():
        if "*" in metric.name and metric.name != ANYTHING:
            for name in filter(metric.declares, stored):
                yield name, family_of(metric._replace(name=name))
