from __future__ import annotations

import json

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.core.timex import Timex
from vigie.sources.timex import SOURCE

STA_PLL, STA_NANO = 0x1, 0x2000
CLOCK = Timex(0, -2500, 655360, 3000, 400, STA_PLL, 6, 10000, 65536, 1500, 8, 131072, 1, 2, 3, 4, 37)


def _recording(clock: Timex) -> str:
    return "-- calls.json --\n" + json.dumps({"adjtimex": clock._asdict()}) + "\n"


def test_clock_in_microseconds(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(_recording(CLOCK))) == {
        "node_timex_sync_status": 1,
        "node_timex_offset_seconds": -0.0025,
        "node_timex_frequency_adjustment_ratio": 1.00001,
        "node_timex_maxerror_seconds": 0.003,
        "node_timex_estimated_error_seconds": 0.0004,
        "node_timex_status": 1,
        "node_timex_loop_time_constant": 6,
        "node_timex_tick_seconds": 0.01,
        "node_timex_pps_frequency_hertz": 1e-6,
        "node_timex_pps_jitter_seconds": 0.0015,
        "node_timex_pps_shift_seconds": 8,
        "node_timex_pps_stability_hertz": 2e-6,
        "node_timex_pps_jitter_total": 1,
        "node_timex_pps_calibration_total": 2,
        "node_timex_pps_error_total": 3,
        "node_timex_pps_stability_exceeded_total": 4,
        "node_timex_tai_offset_seconds": 37,
    }


def test_nanosecond_clock_has_only_offset_and_jitter_in_nanoseconds(
    machine: Machine, samples: Samples
) -> None:
    found = samples(SOURCE, machine(_recording(CLOCK._replace(status=STA_PLL | STA_NANO))))
    assert found["node_timex_offset_seconds"] == -2.5e-6
    assert found["node_timex_pps_jitter_seconds"] == 1.5e-6
    assert found["node_timex_maxerror_seconds"] == 0.003
    assert found["node_timex_tick_seconds"] == 0.01


def test_clock_that_runs_free_is_not_in_sync(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(_recording(CLOCK._replace(state=5))))["node_timex_sync_status"] == 0


def test_sandbox_that_forbids_the_call_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="adjtimex"):
        samples(SOURCE, machine(""))
