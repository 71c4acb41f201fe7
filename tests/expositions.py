"""Reads an exposition back, strictly enough to compare two of them."""

from __future__ import annotations

import re
from typing import NamedTuple

LINE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)",?')

Series = tuple[str, frozenset[tuple[str, str]]]


class Exposition(NamedTuple):
    """What an exporter said: values by series, kinds by name."""

    values: dict[Series, float]
    kinds: dict[str, str]


def parse(text: str) -> Exposition:
    """Return the values and kinds; empty labels are dropped, as Prometheus does."""
    values: dict[Series, float] = {}
    kinds: dict[str, str] = {}
    for line in text.split("\n"):
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            kinds[name] = kind
        elif line and not line.startswith("#"):
            match = LINE.match(line)
            assert match, line
            name, labels, value = match.groups()
            pairs = frozenset((k, v) for k, v in LABEL.findall(labels or "") if v)
            assert (name, pairs) not in values, f"twice: {line}"
            values[name, pairs] = float(value)
    return Exposition(values, kinds)


def spell(series: Series) -> str:
    """Return a series as a person would write it."""
    name, labels = series
    return name + "{" + ",".join(f'{k}="{v}"' for k, v in sorted(labels)) + "}"
