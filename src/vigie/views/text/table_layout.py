"""Which columns of a table stand on which line, and how wide, so that it fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vigie.views.text.text_width import width

GAP, INDENT = 2, 2


class TableColumn(NamedTuple):
    """A column: what it is called, how far it may be cut, and what goes first when room is short."""

    head: str
    least: int = 0  # it may be cut to so many columns of the terminal; 0: never
    rank: int = 0  # the higher, the sooner it is cut or moved to a further line
    right: bool = False  # numbers end below each other
    tells: bool = False  # its words are states, some of which have a colour


class CellPosition(NamedTuple):
    """A column's place on a line."""

    column: int
    width: int


def layout(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], max_width: int | None
) -> list[list[CellPosition]]:
    """Return the lines of a record: one if everything fits when cut, else more, important ones first."""
    natural = [
        max([width(column.head), *(width(row[index]) for row in rows)])
        for index, column in enumerate(columns)
    ]
    left = list(range(len(columns)))
    if max_width is None:
        return [[CellPosition(index, natural[index]) for index in left]]
    lines: list[list[CellPosition]] = []
    while left:
        room = max_width - (indent(max_width) if lines else 0)
        chosen = _fitting(columns, natural, left, room)
        lines.append(_cut(columns, natural, chosen, room))
        left = [index for index in left if index not in chosen]
    return lines


def indent(max_width: int | None) -> int:
    """Return how far the further lines of a record stand in."""
    return INDENT if max_width is None else max(0, min(INDENT, max_width - 1))


def _least(columns: Sequence[TableColumn], natural: Sequence[int], index: int) -> int:
    column = columns[index]
    return min(natural[index], max(column.least, width(column.head))) if column.least else natural[index]


def _fitting(
    columns: Sequence[TableColumn], natural: Sequence[int], left: Sequence[int], room: int
) -> list[int]:
    chosen: list[int] = []
    taken = -GAP
    for index in sorted(left, key=lambda index: (columns[index].rank, index)):
        taken += _least(columns, natural, index) + GAP
        if taken > room and chosen:
            break
        chosen.append(index)
    return sorted(chosen)


def _cut(
    columns: Sequence[TableColumn], natural: Sequence[int], chosen: Sequence[int], room: int
) -> list[CellPosition]:
    widths = {index: natural[index] for index in chosen}
    excess = sum(widths.values()) + GAP * (len(chosen) - 1) - room
    for index in sorted(chosen, key=lambda index: (-columns[index].rank, -index)):
        if excess <= 0:
            break
        saved = min(excess, natural[index] - _least(columns, natural, index))
        widths[index] -= saved
        excess -= saved
    if excess > 0:  # a single column that is wider than the line
        widths[chosen[0]] = room
    return [CellPosition(index, widths[index]) for index in chosen]
