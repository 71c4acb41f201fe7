"""Strict parser of Prometheus's text format 0.0.4: a file is valid or rejected."""

from __future__ import annotations

import math
import re

from vigie.model import Metric, Sample

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
COMMENT = re.compile(rf"#[ \t]*(HELP|TYPE)[ \t]+({NAME})(?:[ \t]+(.*))?$")
KEYWORD = re.compile(r"#[ \t]*(?:HELP|TYPE)(?:[ \t]|$)")
SAMPLE = re.compile(rf"({NAME})(?:[ \t]*\{{(.*)\}}[ \t]*|[ \t]+)([^ \t}}]+)(?:[ \t]+(\S+))?$")
LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\[\\"n])*)"[ \t]*(?:,[ \t]*|$)')
ESCAPE = re.compile(r'\\([\\"n])')

KINDS = ("counter", "gauge", "histogram", "summary", "untyped")
# Suffixes of a family's series.
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
# The label that distinguishes series of a family. Its value is a number.
INNER_LABEL = {"histogram": "le", "summary": "quantile"}

Pairs = tuple[tuple[str, str], ...]


class TextFamily:
    """A metric family of a file."""

    def __init__(self) -> None:
        self.help: str | None = None
        self.kind: str | None = None
        self.rows: list[tuple[str, Pairs, float]] = []

    def samples(self, help: str) -> list[Sample]:
        """Return the samples. Those with equal label names share a metric."""
        metrics: dict[tuple[str, tuple[str, ...]], Metric] = {}
        samples: list[Sample] = []
        for name, pairs, value in self.rows:
            labels = tuple(label for label, _ in pairs)
            if (name, labels) not in metrics:
                text = help if self.help is None else self.help
                metrics[name, labels] = Metric(name, self.kind or "untyped", text, labels)
            samples.append((metrics[name, labels], tuple(value for _, value in pairs), value))
        return samples


def parse(text: str) -> dict[str, TextFamily]:
    """Return the families by name, or raise ValueError with the line."""
    if text and not text.endswith("\n"):
        raise ValueError("last line is incomplete: the file may still be being written")
    families: dict[str, TextFamily] = {}
    seen: set[tuple[str, Pairs]] = set()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip(" \t")
        try:
            if line.startswith("#"):
                _parse_comment(families, line)
            elif line:
                _parse_sample(families, seen, line)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return {name: family for name, family in families.items() if family.rows}


def _parse_comment(families: dict[str, TextFamily], line: str) -> None:
    match = COMMENT.match(line)
    if match is None:
        if KEYWORD.match(line):
            raise ValueError("HELP or TYPE without a metric name")
        return
    keyword, name, text = match.groups()
    family = families.setdefault(name, TextFamily())
    if keyword == "HELP":
        if family.help is not None:
            raise ValueError(f"second HELP for {name}")
        family.help = _unescape(text or "")
        return
    if family.kind is not None or family.rows:
        raise ValueError(f"TYPE for {name} after its first TYPE or sample")
    family.kind = (text or "").lower()
    if family.kind not in KINDS:
        raise ValueError(f"{name} has unknown type {text}")


def _parse_sample(families: dict[str, TextFamily], seen: set[tuple[str, Pairs]], line: str) -> None:
    match = SAMPLE.match(line)
    if match is None:
        raise ValueError("neither a sample nor a comment")
    name, inside, number, timestamp = match.groups()
    if timestamp is not None:
        raise ValueError("timestamps are not allowed")
    pairs = _parse_labels(inside or "")
    _find_family(families, name, dict(pairs)).rows.append((name, pairs, _parse_value(number)))
    series = (name, tuple(pair for pair in pairs if pair[1]))
    if series in seen:
        raise ValueError(f"duplicate series of {name}")
    seen.add(series)


def _find_family(families: dict[str, TextFamily], name: str, labels: dict[str, str]) -> TextFamily:
    """Return the family of the series, or raise ValueError if it does not fit."""
    own = families.get(name)
    if own is None or own.kind in SUFFIXES:
        for kind, suffixes in SUFFIXES.items():
            for suffix in suffixes:
                family = families.get(name[: -len(suffix)]) if name.endswith(suffix) else None
                if family is not None and family.kind == kind:
                    if suffix == "_bucket":
                        _parse_value(labels.get("le", "no le"))
                    return family
    if own is None:
        own = families[name] = TextFamily()
    elif own.kind in INNER_LABEL:
        if own.kind == "histogram" or "quantile" not in labels:
            raise ValueError(f"{name} is a {own.kind} and cannot have this series")
        _parse_value(labels["quantile"])
    return own


def _parse_labels(inside: str) -> Pairs:
    labels: dict[str, str] = {}
    place = 0
    while place < len(inside):
        match = LABEL.match(inside, place)
        if match is None:
            if not inside[place:].strip(" \t"):
                break
            raise ValueError(f"no label at {inside[place : place + 20]!r}")
        name, value = match.groups()
        if name in labels or name == "__name__":
            raise ValueError(f"duplicate label {name}")
        labels[name] = _unescape(value)
        place = match.end()
    return tuple(sorted(labels.items()))


def _parse_value(text: str) -> float:
    if "_" in text or not text.isascii() or text != text.strip():  # float() would accept these
        raise ValueError(f"{text[:20]!r} is not a number")
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text[:20]!r} is not a number") from None
    if math.isinf(value) and text.lower().lstrip("+-") not in ("inf", "infinity"):
        raise ValueError(f"{text[:20]} is too large")
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _unescape(text: str) -> str:
    return ESCAPE.sub(lambda match: "\n" if match.group(1) == "n" else match.group(1), text)
