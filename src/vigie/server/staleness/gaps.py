"""The times between a node's frames that are too long: a frame that comes late takes its gap away again.

Which gaps there are follows from which frames there are, not from the order in which they came: so a replay
that covers a cut leaves nothing of it.
"""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct, structs

LATE_CADENCES, LATE_MS = 3, 15_000
LOST_CADENCES, LOST_MS = 6, 60_000
SILENT, LATE, STOPPED, REMOVED = "silent", "late", "stopped", "removed"
MAX_GAPS = 256  # of one node; the oldest are forgotten first


def late_after(cadence_ms: int) -> int:
    """Return after how many milliseconds of silence a node is late."""
    return max(LATE_CADENCES * cadence_ms, LATE_MS)


def lost_after(cadence_ms: int) -> int:
    """Return after how many milliseconds of silence a node is lost."""
    return max(LOST_CADENCES * cadence_ms, LOST_MS)


class Gap(Struct, frozen=True, array_like=True):
    """From the last frame before to the first one after, and why there is none between them."""

    start: int
    end: int
    step: int  # how often frames should have come
    why: str = SILENT

    @property
    def is_one(self) -> bool:
        """Tell whether it is longer than frames may be apart."""
        return self.why != SILENT or self.end - self.start > late_after(self.step)

    @property
    def ends_series(self) -> bool:
        """Tell whether the node's series have ended with the last frame."""
        if self.why == SILENT:
            return self.end - self.start > lost_after(self.step)
        return self.why != LATE


class NodeActivity(Struct, frozen=True):
    """What is known of the frames of one node; a new one is made for each change."""

    first: int
    newest: int
    step: int
    why: str = SILENT  # why nothing follows the newest frame
    jobs: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()  # in order of time

    def with_frame(self, time: int) -> NodeActivity:
        """Return what is known when there is a frame of this time, too."""
        if time > self.newest:
            found = _real(Gap(self.newest, time, self.step, self.why))
            return structs.replace(self, newest=time, why=SILENT, gaps=(*self.gaps, *found)[-MAX_GAPS:])
        if time < self.first:
            found = _real(Gap(time, self.first, self.step))
            return structs.replace(self, first=time, gaps=(*found, *self.gaps)[-MAX_GAPS:])
        place = bisect_left(self.gaps, time, key=lambda gap: gap.end)
        gap = self.gaps[place] if place < len(self.gaps) else None
        if gap is None or not gap.start < time < gap.end:
            return self
        halves = _real(Gap(gap.start, time, gap.step), Gap(time, gap.end, gap.step, gap.why))
        gaps = (*self.gaps[:place], *halves, *self.gaps[place + 1 :])
        return structs.replace(self, gaps=gaps[-MAX_GAPS:])

    def until(self, now: int, since: int) -> tuple[Gap, ...]:
        """Return the gaps, that which lasts still among them; before `since` nobody was there to listen."""
        silent = now - max(self.newest, since)
        if self.why == SILENT and silent <= late_after(self.step):
            return self.gaps
        # It may have been longer than that, but for some of it nobody was there to listen.
        late = self.why == SILENT and silent <= lost_after(self.step)
        last = Gap(self.newest, max(now, self.newest) + 1, self.step, LATE if late else self.why)
        return (*self.gaps, last)


def _real(*gaps: Gap) -> tuple[Gap, ...]:
    return tuple(gap for gap in gaps if gap.is_one)
