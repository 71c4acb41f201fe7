"""Tables whose columns stand below each other, as wide as the terminal lets them be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vigie.views.text.style import paint, tone
from vigie.views.text.table_layout import GAP, CellPosition, TableColumn, indent, layout
from vigie.views.text.text_width import clean, pad


def table(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
    max_width: int | None = None,
    colour: bool = False,
) -> Iterator[str]:
    """Yield the head and the rows; a record that does not fit on a line goes on on the next, indented."""
    cells = [[clean(cell) for cell in row] for row in rows]
    lines = layout(columns, cells, max_width)
    blank = " " * indent(max_width)
    for number, row in enumerate([[column.head for column in columns], *cells]):
        first, *further = [_line(columns, row, places, colour and number > 0) for places in lines]
        yield first
        yield from (f"{blank}{line}".rstrip() for line in further)


def _line(
    columns: Sequence[TableColumn], row: Sequence[str], places: Sequence[CellPosition], colour: bool
) -> str:
    words = [_cell(columns[place.column], row[place.column], place.width, colour) for place in places]
    return (" " * GAP).join(words).rstrip()


def _cell(column: TableColumn, text: str, columns: int, colour: bool) -> str:
    cell = pad(text, columns, column.right)
    return paint(cell, tone(text)) if colour and column.tells else cell
