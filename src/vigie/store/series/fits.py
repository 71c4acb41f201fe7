"""What of a layout meets some conditions: remembered for as long as the layout lives."""

from __future__ import annotations

from functools import cached_property

from vigie.store.disk.chunk import Cut, cuts_of
from vigie.store.series.condition import Condition
from vigie.store.series.layout import Columns, Key, Layout

MOST = 32  # questions that are remembered of a layout: dashboards ask the same ones all the time


class Fits:
    """The fitting columns of a layout."""

    def __init__(self, layout: Layout, conditions: tuple[Condition, ...]) -> None:
        self._series = layout.series
        self.columns: Columns = layout.match(conditions)
        self._cuts: list[Cut] | None = None

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """Return the series that stand in these columns."""
        return tuple([self._series[i] for i in self.columns.tolist()])

    def cuts(self, layout: Layout) -> list[Cut]:
        """Return the columns band by band; the layout is the one that was given, and ordered."""
        if self._cuts is None:
            self._cuts = cuts_of(layout, self.columns)
        return self._cuts


def fits_of(layout: Layout, conditions: tuple[Condition, ...]) -> Fits:
    """Return what of a layout meets the conditions."""
    fits = layout.fits.get(conditions)
    if fits is None:
        if len(layout.fits) >= MOST:
            layout.fits = {}  # another one: threads may be looking at this one
        fits = layout.fits[conditions] = Fits(layout, conditions)
    return fits
