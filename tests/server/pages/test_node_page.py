"""The sources of a node, as its page lists them."""

from __future__ import annotations

from msgspec.structs import astuple

from vigie.server.pages.node_page import WITHOUT, build_sources
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.result_table import SeriesRow

NOW = 1_700_000_000_000


def row(value: float, *labels: str) -> SeriesRow:
    return SeriesRow(labels, [NOW], [value])


def test_source_is_told_with_its_reason_its_cost_and_trouble_first() -> None:
    found = BatchResult(
        {
            "success": [row(1, "cpu"), row(0, "zfs"), row(0, "nfs"), row(0, "xfs"), row(1, "nvme")],
            "duration": [row(0.25, "cpu")],
            "age": [row(900, "nvme")],
            "outcome": [
                row(1, "zfs", "error", "garbage in line 3"),
                row(1, "nfs", "unavailable", "no mount"),
            ],
        },
        {},
    )
    assert [astuple(one) for one in build_sources(found)] == [
        ("zfs", "error", "garbage in line 3", None),
        ("nvme", "stale", "last read 900 s ago", None),
        ("cpu", "ok", "", 0.25),
        ("nfs", "unavailable", "no mount", None),
        ("xfs", "unavailable", WITHOUT, None),
    ]
