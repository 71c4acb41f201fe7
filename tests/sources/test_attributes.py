from __future__ import annotations

import pytest

from tests.sources.conftest import Machine
from vigie.model import untyped
from vigie.sources._attributes import AttributeFamily, parse_counters, read_count, read_measure, should_search
from vigie.sources.core.tree import to_printable


@pytest.mark.parametrize("text", ["N/A", "", "nan", "inf", "-inf", "0x1f", "9" * 400, "1 2"])
def test_what_is_no_number_is_absent_and_noted(text: str, machine: Machine) -> None:
    host = machine(f"-- sys/x --\n{text}\n")
    assert read_measure(host, "x", 1000) is None
    assert list(host.notes) == ["/sys/x"]


def test_numbers_are_divided_exactly(machine: Machine) -> None:
    host = machine("-- sys/x --\n45123\n-- sys/minus --\n-1\n")
    assert read_measure(host, "x", 1000) == 45.123
    assert read_measure(host, "minus") == -1
    assert read_count(host, "minus") is None


def test_a_file_that_is_not_there_needs_no_note(machine: Machine) -> None:
    host = machine("-- sys/ --\n")
    assert read_measure(host, "x") is None
    assert host.notes == {}


@pytest.mark.parametrize("words", [["-1"], ["1", "x"], [str(1 << 64)], ["9" * 5000]])
def test_counts_are_unsigned_64_bit_numbers(words: list[str]) -> None:
    with pytest.raises(ValueError, match="invalid counters"):
        parse_counters(words)


def test_bytes_that_are_not_utf8_become_printable() -> None:
    assert to_printable("caf\u00e9 \udcff").encode() == "caf\u00e9 \ufffd".encode()


def test_members_are_made_once_and_only_from_words_that_fit() -> None:
    family = AttributeFamily(untyped("node_x_*", "The count *."))
    assert family["a-b"] is family["a-b"]
    assert family["a-b"] == untyped("node_x_a_b", "The count a_b.")
    assert family["caf\u00e9"] is None
    assert family["a b"] is None


def test_a_family_does_not_grow_without_end() -> None:
    family = AttributeFamily(untyped("node_x_*", "The count *."))
    for number in range(10_000):
        assert family[f"m{number}"] is not None
    assert len(family) < 5000


def test_things_that_hardly_change_are_looked_at_now_and_then(machine: Machine) -> None:
    host = machine("-- sys/ --\n")
    looks = [should_search(host) for _ in range(121)]
    assert [place for place, look in enumerate(looks) if look] == [0, 60, 120]
