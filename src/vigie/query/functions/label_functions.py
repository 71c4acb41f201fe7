"""label_replace and label_join."""

from __future__ import annotations

import re
import string

from vigie.query.errors import BadDataError, ExecutionError
from vigie.query.matchers import RegexMatch, RegexPattern, compile_regex
from vigie.query.storage import Labels
from vigie.query.vectors import Vector

_FIRST = set(string.ascii_letters + "_")
_LATER = _FIRST | set(string.digits)
_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})", re.ASCII)


def is_valid_label_name(name: str) -> bool:
    return bool(name) and name[0] in _FIRST and set(name) <= _LATER


def label_replace(vector: Vector, target: str, replacement: str, source: str, regex: str) -> Vector:
    """Set a label to the expansion of a pattern that matches the whole value of another."""
    try:
        compiled = compile_regex(regex)
    except BadDataError as error:
        raise ExecutionError(f"invalid regular expression in label_replace(): {regex}") from error
    if not is_valid_label_name(target):
        raise ExecutionError(f"invalid destination label name in label_replace(): {target}")
    new = []
    for labels in vector.labels:
        match = compiled.fullmatch(labels.get(source, ""))
        new.append(_set_label(labels, target, _expand(replacement, compiled, match)) if match else labels)
    return Vector(new, vector.values, vector.present).merge_rows()


def label_join(vector: Vector, target: str, separator: str, *sources: str) -> Vector:
    for source in sources:
        if not is_valid_label_name(source):
            raise ExecutionError(f"invalid source label name in label_join(): {source}")
    if not is_valid_label_name(target):
        raise ExecutionError(f"invalid destination label name in label_join(): {target}")
    new = [
        _set_label(labels, target, separator.join(labels.get(source, "") for source in sources))
        for labels in vector.labels
    ]
    return Vector(new, vector.values, vector.present).merge_rows()


def _set_label(labels: Labels, name: str, value: str) -> Labels:
    """Set one label; an empty value removes it."""
    rest = {key: old for key, old in labels.items() if key != name}
    return {**rest, name: value} if value else rest


def _expand(template: str, compiled: RegexPattern, match: RegexMatch) -> str:
    """Expand $1, ${1}, $name and $$."""
    text, done = "", 0
    for found in _REFERENCE.finditer(template):
        text += template[done : found.start()]
        name = found.group(1) or found.group(2)
        text += "$" if name is None else _read_group(compiled, match, name)
        done = found.end()
    return text + template[done:]


def _read_group(compiled: RegexPattern, match: RegexMatch, name: str) -> str:
    if name in map(str, range(compiled.groups + 1)):  # 01 and very long numbers are names that no group has
        return match.group(int(name)) or ""
    return (match.group(name) or "") if name in compiled.groupindex else ""
