"""The days of a user, as the page lists them."""

from __future__ import annotations

from vigie.model.binding import Binding
from vigie.server.cluster.bindings import StoredBinding
from vigie.server.pages.humanize import DAY_MS, HOUR_MS
from vigie.server.pages.query_batch import BatchResult
from vigie.server.pages.result_table import SeriesRow
from vigie.server.pages.user_page import STEP_MS, build_days

NOW = 1_700_000_000_000


def test_a_day_has_as_many_worked_hours_as_held_ones_when_the_gpu_was_always_busy() -> None:
    midnight = NOW // DAY_MS * DAY_MS
    at_ms = midnight + 6 * HOUR_MS
    held = [StoredBinding(1, "n1", Binding("gpu:0", "job", "7", midnight, user="alice"))]
    moments = list(range(midnight, at_ms + 1, STEP_MS))
    busy = BatchResult({"worked": [SeriesRow((), moments, [1.0] * len(moments))]}, {})
    day = build_days(at_ms, held, busy)[-1]
    assert (day.held, day.worked) == (6.0, 6.0)
