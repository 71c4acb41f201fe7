"""What is chosen on a page, and where the arrows lead from there."""

from __future__ import annotations

from vigie.views.terminal.page import PageRow, Spot, TerminalPage

NAMES = {"k": "up", "j": "down", "h": "left", "l": "right", " ": "page down"}


def place(page: TerminalPage, key: str, row: int) -> tuple[int, int]:
    """Return row and spot of what is chosen; when it has gone, what stands nearest to its row."""
    for number, found in enumerate(page.rows):
        for index, spot in enumerate(found.spots):
            if spot.key == key:
                return number, index
    rows = _choosable(page)
    return (
        (min(rows, key=lambda number: abs(number - row)), 0) if rows and key else (rows[0] if rows else 0, 0)
    )


def find_selection(page: TerminalPage, key: str, row: int) -> Spot | None:
    """Return what is chosen, if there is anything to choose."""
    number, index = place(page, key, row)
    spots = page.rows[number].spots if page.rows else ()
    return spots[index] if spots else None


def key_at(page: TerminalPage, row: int, spot: int) -> str:
    """Return the key of a place."""
    spots = page.rows[row].spots if page.rows else ()
    return spots[spot].key if spots else ""


def move_selection(page: TerminalPage, at: tuple[int, int], key: str, height: int) -> tuple[int, int]:
    """Return the place after a key."""
    rows = _choosable(page)
    if not rows:
        return at
    key = NAMES.get(key, key)
    index = rows.index(at[0])
    if key in ("left", "right"):
        return _aside(page, rows, index, at[1] + (1 if key == "right" else -1))
    if key in ("tab", "back tab"):
        return _section(page, rows, at[0], key == "tab"), 0
    steps = {
        "up": -1,
        "down": 1,
        "page up": -height,
        "page down": height,
        "home": -len(rows),
        "end": len(rows),
    }
    if key not in steps:
        return at
    target = rows[min(max(0, index + steps[key]), len(rows) - 1)]
    return target, _nearest(page.rows[target], page.rows[at[0]].spots[at[1]].start)


def _choosable(page: TerminalPage) -> list[int]:
    return [number for number, row in enumerate(page.rows) if row.spots]


def _aside(page: TerminalPage, rows: list[int], index: int, spot: int) -> tuple[int, int]:
    spots = page.rows[rows[index]].spots
    if 0 <= spot < len(spots):
        return rows[index], spot
    if spot < 0:
        return (rows[index - 1], len(page.rows[rows[index - 1]].spots) - 1) if index else (rows[0], 0)
    return (rows[index + 1], 0) if index + 1 < len(rows) else (rows[index], len(spots) - 1)


def _section(page: TerminalPage, rows: list[int], row: int, forward: bool) -> int:
    """Return the first row of the next section that has something to choose, or of the one before."""
    titles = [number for number, found in enumerate(page.rows) if found.title]
    firsts = sorted({next((r for r in rows if r > title), rows[0]) for title in titles} | {rows[0]})
    if forward:
        return next((first for first in firsts if first > row), firsts[0])
    return next((first for first in reversed(firsts) if first < row), firsts[-1])


def _nearest(row: PageRow, start: int) -> int:
    return min(range(len(row.spots)), key=lambda index: abs(row.spots[index].start - start))
