"""How the kernel's clock is kept in step with a reference, from adjtimex(2)."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    SYNC := gauge("node_timex_sync_status", "1 while the clock is kept in step, 0 when it runs free."),
    OFFSET := gauge("node_timex_offset_seconds", "Correction of the clock that is still to be made."),
    RATIO := gauge(
        "node_timex_frequency_adjustment_ratio", "How much faster than by itself the clock is run."
    ),
    MAX_ERROR := gauge("node_timex_maxerror_seconds", "Most that the clock may be wrong by."),
    ERROR := gauge("node_timex_estimated_error_seconds", "What the clock is probably wrong by."),
    STATUS := gauge("node_timex_status", "The kernel's bits for the state of its clock (STA_*)."),
    CONSTANT := gauge("node_timex_loop_time_constant", "How slowly corrections are made, as a power of two."),
    TICK := gauge("node_timex_tick_seconds", "Time that the clock moves on at each tick."),
    PPS_FREQUENCY := gauge("node_timex_pps_frequency_hertz", "Frequency error against a pulse each second."),
    PPS_JITTER := gauge("node_timex_pps_jitter_seconds", "Spread of the pulses' arrival."),
    PPS_SHIFT := gauge(
        "node_timex_pps_shift_seconds", "Interval of calibration by pulses, as a power of two."
    ),
    PPS_STABILITY := gauge("node_timex_pps_stability_hertz", "How much the frequency wandered lately."),
    PPS_JITTERS := counter("node_timex_pps_jitter_total", "Pulses that came too early or too late."),
    PPS_CALIBRATIONS := counter("node_timex_pps_calibration_total", "Calibrations by pulses."),
    PPS_ERRORS := counter("node_timex_pps_error_total", "Calibrations by pulses that failed."),
    PPS_UNSTABLE := counter(
        "node_timex_pps_stability_exceeded_total", "Calibrations that found too much wander."
    ),
    TAI := gauge(
        "node_timex_tai_offset_seconds", "How far atomic time (TAI) is ahead of UTC; 0 if nobody told."
    ),
)

TIME_ERROR = 5
STA_NANO = 0x2000
MICROSECONDS, NANOSECONDS = 1e6, 1e9
# The kernel counts frequencies in millionths with 16 bits after the point.
MILLIONTHS = 1e6 * 65536


def read(host: Host) -> Iterator[Sample]:
    """Yield the clock's discipline; the unit of offset and jitter is told by a status bit."""
    try:
        t = host.calls.adjtimex()
    except OSError as error:
        raise Unavailable(f"adjtimex is refused here: {error.strerror}") from error
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
