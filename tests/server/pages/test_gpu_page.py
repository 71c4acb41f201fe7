"""The health of a GPU, as its page lists it."""

from __future__ import annotations

from vigie.server.pages.gpu_page import build_health
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.result_table import SeriesRow

NOW = 1_700_000_000_000


def row(value: float, *labels: str) -> SeriesRow:
    return SeriesRow(labels, [NOW], [value])


def test_health_that_nobody_tells_is_unknown_and_bad_health_says_what_to_do() -> None:
    unknown = {one.label: one for one in build_health(BatchResult({}, {}))}
    assert {one.state for one in unknown.values()} == {"unknown"}
    assert all(one.value is None and one.why for one in unknown.values())
    told = build_health(BatchResult({"rows_pending": [row(1)], "links": [row(4)], "links_up": [row(3)]}, {}))
    states = {one.label: one.state for one in told}
    assert states["Row remap pending"] == "critical"
    assert states["NVLinks up"] == "warning"
