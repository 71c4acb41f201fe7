"""The lines of `scontrol -o`: fields without blanks between a few that anybody can write freely."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

_NOTHING = frozenset(("", "(null)", "N/A", "Unknown", "None", "n/a"))


class InvalidRecordError(Exception):
    """A line that is no record; the message says why."""


def split_fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a part of a record whose values hold no blanks.

    >>> list(split_fields("NumCPUs=8 CPUs/Task=4 TRES=cpu=8,mem=1G NtasksPerTRES:0"))
    [('NumCPUs', '8'), ('CPUs/Task', '4'), ('TRES', 'cpu=8,mem=1G')]
    """
    for word in text.split():
        name, equal, value = word.partition("=")
        if equal:
            yield name, value


def present(value: str) -> str:
    """Return a value, or nothing where Slurm has one of its words for nothing."""
    return "" if value in _NOTHING else value


def parse_number(value: str) -> int | None:
    """Return a whole number; of a range the least.

    >>> parse_number("8"), parse_number("2-4"), parse_number("N/A"), parse_number("9" * 40)
    (8, 2, None, None)
    """
    first = value.partition("-")[0]
    return int(first) if first.isdecimal() and len(first) < 16 else None


def parse_time_ms(value: str) -> int | None:
    """Return a time that was printed in UTC, as milliseconds.

    >>> parse_time_ms("2026-11-18T09:49:17"), parse_time_ms("Unknown"), parse_time_ms("2026-99-18T09:49:17")
    (1794995357000, None, None)
    """
    try:
        return round(datetime.fromisoformat(value).replace(tzinfo=timezone.utc).timestamp()) * 1000
    except ValueError:
        return None
