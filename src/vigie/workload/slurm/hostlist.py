"""Lists of nodes as Slurm writes them: `n[1-3,07]-ib,head`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product

MAX_HOSTS = 65_536  # as many nodes as a Slurm cluster can have
_PART = re.compile(r"\[([0-9,-]*)\]|([^\[\]]+)")


def expand_hosts(text: str, limit: int = MAX_HOSTS) -> list[str]:
    """Return the nodes of a list in its order.

    >>> expand_hosts("n[1-2,07],head")
    ['n1', 'n2', 'n07', 'head']
    >>> expand_hosts("r[1-2]n[0-1]")
    ['r1n0', 'r1n1', 'r2n0', 'r2n1']
    >>> expand_hosts("(null)"), expand_hosts("n[1-")
    ([], [])
    """
    if text in ("", "(null)"):
        return []
    return list(islice((host for item in _split_items(text) for host in _expand_item(item)), limit))


def expand_numbers(text: str, limit: int = MAX_HOSTS) -> list[int]:
    """Return the numbers of a list of ranges; what is no number is left out.

    >>> expand_numbers("0-2,5"), expand_numbers("1-7:3"), expand_numbers("N/A")
    ([0, 1, 2, 5], [1, 4, 7], [])
    """
    return list(islice((number for part in text.split(",") for number in _range(part)), limit))


def _split_items(text: str) -> Iterator[str]:
    """Yield what stands between the commas that are outside brackets."""
    depth, begin = 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def _expand_item(item: str) -> Iterator[str]:
    parts = list(_PART.finditer(item))
    if sum(len(part[0]) for part in parts) != len(item):
        return  # a bracket is missing: cut off, or no list of nodes
    choices = [[part[2]] if part[2] else list(_padded_numbers(part[1])) for part in parts]
    yield from ("".join(chosen) for chosen in product(*choices))


def _padded_numbers(ranges: str) -> Iterator[str]:
    for part in ranges.split(","):
        width = len(part.partition("-")[0])
        yield from (str(number).zfill(width) for number in _range(part))


def _range(part: str) -> Iterator[int]:
    span, _, step = part.partition(":")
    first, dash, last = span.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()) or (step and not step.isdecimal()):
        return
    yield from islice(range(int(first), int(last or first) + 1, int(step or 1) or 1), MAX_HOSTS)
