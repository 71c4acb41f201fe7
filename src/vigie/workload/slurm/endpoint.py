"""The metrics that slurmctld itself serves, from 25.11 on where MetricsType is set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Sample
from vigie.sources.core.text_format import parse
from vigie.workload.slurm.metrics import BY_NAME

PATHS = ("jobs", "nodes", "partitions", "scheduler")  # not jobs-users-accts, which Slurm advises against
SECONDS = 5.0
MAX_BYTES = 16 << 20
PREFIX = "slurm_"


class Scrape(NamedTuple):
    """What the endpoint gave, or why nothing."""

    samples: tuple[Sample, ...] = ()
    error: str = ""


def scrape_controller(host: str, port: int) -> Scrape:
    """Return all series under names that we do not give ourselves."""
    samples: list[Sample] = []
    try:
        for path in PATHS:
            samples += _own_names(_get(host, port, f"/metrics/{path}"))
    except (OSError, ValueError) as error:
        return Scrape(error=f"slurmctld's /metrics: {error}")
    return Scrape(tuple(samples))


def _get(host: str, port: int, path: str) -> str:
    import http.client  # only when used: every agent has this source, and few have a controller

    connection = http.client.HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        response = connection.getresponse()
        # As many bytes as it announces: a stray line follows them.
        body = response.read(MAX_BYTES + 1)
    except http.client.HTTPException as error:
        raise ValueError(f"no HTTP: {error!r}") from None
    finally:
        connection.close()
    if response.status != 200:
        said = body.decode("utf-8", "replace").strip().rpartition("Failed: ")[2].partition("\n")[0]
        raise ValueError(f"{response.status} {said[:100]}")
    if len(body) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    return body.decode("utf-8", "replace")


def _own_names(text: str) -> Iterator[Sample]:
    for name, family in parse(text).items():
        if name.startswith(PREFIX) and name not in BY_NAME:
            yield from family.samples(family.help or "Served by slurmctld.")
