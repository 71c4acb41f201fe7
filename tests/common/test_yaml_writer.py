"""What we write as YAML is read back by others as what it was."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from yaml import safe_load  # type: ignore[import-untyped]

from vigie.common.yaml_writer import write_yaml

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_anything_is_read_back_as_it_was(value: Any) -> None:
    assert safe_load(write_yaml(value, "a note\nin two lines")) == value


@given(st.text(max_size=20) | st.text(" \n:-#|a", max_size=12))
def test_text_never_leaves_its_place(text: str) -> None:
    first, *rest = write_yaml({"a": text, "b": 1}).splitlines()
    assert first.startswith("a: ")
    assert rest.pop() == "b: 1"
    assert all(line.startswith("  ") for line in rest)
    assert safe_load(write_yaml({"a": text})) == {"a": text}


def test_promql_stays_readable() -> None:
    assert write_yaml({"expr": 'up{job="node"} == 0'}) == "expr: 'up{job=\"node\"} == 0'\n"
    assert write_yaml({"expr": 'a == 0\n  or b{c="d"}'}) == 'expr: |-\n  a == 0\n    or b{c="d"}\n'
