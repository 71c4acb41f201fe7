"""Clock synchronization, from adjtimex(2)."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    SYNC := gauge("node_timex_sync_status", "1 if the clock is synchronized, 0 otherwise."),
    OFFSET := gauge("node_timex_offset_seconds", "Time offset still to be corrected."),
    RATIO := gauge("node_timex_frequency_adjustment_ratio", "Frequency adjustment."),
    MAX_ERROR := gauge("node_timex_maxerror_seconds", "Maximum error."),
    ERROR := gauge("node_timex_estimated_error_seconds", "Estimated error."),
    STATUS := gauge("node_timex_status", "Status bits of the clock (STA_*)."),
    CONSTANT := gauge("node_timex_loop_time_constant", "Time constant of the phase-locked loop."),
    TICK := gauge("node_timex_tick_seconds", "Seconds per clock tick."),
    PPS_FREQUENCY := gauge("node_timex_pps_frequency_hertz", "PPS frequency."),
    PPS_JITTER := gauge("node_timex_pps_jitter_seconds", "PPS jitter."),
    PPS_SHIFT := gauge("node_timex_pps_shift_seconds", "PPS interval duration."),
    PPS_STABILITY := gauge("node_timex_pps_stability_hertz", "PPS stability."),
    PPS_JITTERS := counter("node_timex_pps_jitter_total", "PPS jitter limit exceeded events."),
    PPS_CALIBRATIONS := counter("node_timex_pps_calibration_total", "PPS calibration intervals."),
    PPS_ERRORS := counter("node_timex_pps_error_total", "PPS calibration errors."),
    PPS_UNSTABLE := counter(
        "node_timex_pps_stability_exceeded_total", "PPS stability limit exceeded events."
    ),
    TAI := gauge("node_timex_tai_offset_seconds", "Offset of TAI from UTC; 0 if not set."),
)

TIME_ERROR = 5
STA_NANO = 0x2000
MICROSECONDS, NANOSECONDS = 1e6, 1e9
# Frequencies are in ppm with 16 fractional bits.
MILLIONTHS = 1e6 * 65536


def read(host: Host) -> Iterator[Sample]:
    """Yield the clock discipline. A status bit selects the unit of offset and jitter."""
    try:
        t = host.calls.adjtimex()
    except OSError as error:
        raise Unavailable(f"adjtimex failed: {error.strerror}") from error
    fine = NANOSECONDS if t.status & STA_NANO else MICROSECONDS
    yield SYNC, (), 0 if t.state == TIME_ERROR else 1
    yield OFFSET, (), t.offset / fine
    yield RATIO, (), 1 + t.freq / MILLIONTHS
    yield MAX_ERROR, (), t.maxerror / MICROSECONDS
    yield ERROR, (), t.esterror / MICROSECONDS
    yield STATUS, (), t.status
    yield CONSTANT, (), t.constant
    yield TICK, (), t.tick / MICROSECONDS
    yield PPS_FREQUENCY, (), t.ppsfreq / MILLIONTHS
    yield PPS_JITTER, (), t.jitter / fine
    yield PPS_SHIFT, (), t.shift
    yield PPS_STABILITY, (), t.stabil / MILLIONTHS
    yield PPS_JITTERS, (), t.jitcnt
    yield PPS_CALIBRATIONS, (), t.calcnt
    yield PPS_ERRORS, (), t.errcnt
    yield PPS_UNSTABLE, (), t.stbcnt
    yield TAI, (), t.tai


SOURCE = Source("timex", METRICS, read)
