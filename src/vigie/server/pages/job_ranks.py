"""The ranks of a job beside each other: what each measures, and how far it is from the job's middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from types import MappingProxyType

from vigie.server.pages.job_reports import MEASURES, RankReport, report_queries
from vigie.server.pages.queries import nodes_matcher
from vigie.server.pages.query_batch import BatchQuery, BatchResult
from vigie.server.pages.snapshot import Place, Snapshot
from vigie.wire.api.rows import RankRow

FIELDS = ("sm", "tensor", "memory", "power", "clock", "nvlink", "infiniband", "cpu", *MEASURES)
SPREAD = 1.4826  # times the middle distance from the middle is a standard deviation
ODD = 3.5  # standard deviations
MIN_DISTANCE = 0.1  # of the middle: what differs by less is not odd, however alike the others are
MAX_ODDNESS = 99.0


def rank_queries(nodes: Sequence[str]) -> dict[str, BatchQuery]:
    """Return what has to be asked about the ranks on these nodes beside what a snapshot has."""
    where = nodes_matcher(nodes)
    agents = f'{where}, job="node"'  # a node exporter beside one would double the sum
    ports = f"sum by (instance) (rate(node_infiniband_port_data_transmitted_bytes_total{{{agents}}}[2m]))"
    received = ports.replace("transmitted", "received")
    link = f"DCGM_FI_PROF_NVLINK_TX_BYTES{{{where}}} + DCGM_FI_PROF_NVLINK_RX_BYTES{{{where}}}"
    return {
        "nvlink": BatchQuery(f"avg_over_time(({link})[5m:15s])"),
        "infiniband": BatchQuery(f"{ports} + {received}", ("instance",)),
        **report_queries(nodes),
    }


def build_ranks(
    snapshot: Snapshot,
    places: Sequence[Place],
    more: BatchResult,
    reports: Mapping[Place, RankReport] = MappingProxyType({}),
) -> tuple[list[RankRow], dict[str, float | None]]:
    """Return a row for each rank, the oddest first, and the middle of each field."""
    nvlink, infiniband = more.numbers("nvlink"), more.numbers("infiniband")
    measures = [
        {**_measure(snapshot, place, nvlink, infiniband), **_reported(reports.get(place))} for place in places
    ]
    medians = {field: _median([row[field] for row in measures]) for field in FIELDS}
    spreads = {field: _spread([row[field] for row in measures], medians[field]) for field in FIELDS}
    rows = []
    for rank, ((node, gpu), row) in enumerate(zip(places, measures, strict=True)):
        far = {field: _distance(row[field], medians[field], spreads[field]) for field in FIELDS}
        oddness = round(max(far.values(), default=0.0), 2)
        odd = [field for field, distance in far.items() if distance >= ODD]
        told = reports.get((node, gpu), RankReport({})).rank
        own = rank if told is None else told
        rows.append(RankRow(own, node, gpu, **row, oddness=oddness, odd=odd))
    rows.sort(key=lambda row: (-row.oddness, row.rank))
    return rows, medians


def _reported(report: RankReport | None) -> dict[str, float | None]:
    return {measure: report.values.get(measure) if report else None for measure in MEASURES}


def _measure(
    snapshot: Snapshot,
    place: Place,
    nvlink: Mapping[tuple[str, ...], float],
    fabric: Mapping[tuple[str, ...], float],
) -> dict[str, float | None]:
    used, total = (snapshot.number(name, *place) for name in ("memory", "memory_total"))
    return {
        "sm": snapshot.number("sm_5m", *place),
        "tensor": snapshot.number("tensor_5m", *place),
        "memory": used / total if used is not None and total else None,
        "power": snapshot.number("power", *place),
        "clock": snapshot.number("clock", *place),
        "nvlink": nvlink.get(place),
        "infiniband": fabric.get(place[:1]),
        "cpu": snapshot.number("cpu", place[0]),
    }


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _spread(values: Sequence[float | None], middle: float | None) -> float:
    if middle is None:
        return 0.0
    return SPREAD * median([abs(value - middle) for value in values if value is not None])


def _distance(value: float | None, middle: float | None, spread: float) -> float:
    """Return how many deviations a value is off; alike ranks are forgiven a tenth of their middle."""
    if value is None or middle is None:
        return 0.0
    off = abs(value - middle)
    if off <= MIN_DISTANCE * abs(middle) or off == 0:
        return min(off / spread, ODD - 0.01) if spread else 0.0
    return min(off / spread if spread else MAX_ODDNESS, MAX_ODDNESS)
