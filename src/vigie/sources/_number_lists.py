"""The kernel's number lists, such as 0-3,8."""

from __future__ import annotations

from collections.abc import Iterable

MAX_NUMBERS = 65_535  # more cores or NUMA nodes mean an invalid list


def parse_number_list(text: str) -> list[int]:
    """Return the numbers in a list such as 0-3,8. Invalid parts are ignored.

    >>> parse_number_list("0-3,8")
    [0, 1, 2, 3, 8]
    """
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        try:
            numbers.extend(range(int(first), min(int(last or first), MAX_NUMBERS) + 1))
        except ValueError:
            continue
    return numbers


def format_number_list(numbers: Iterable[int]) -> str:
    """Return a list in the kernel's format.

    >>> format_number_list([3, 0, 1, 2, 7])
    '0-3,7'
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)
