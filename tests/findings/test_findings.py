"""The diagnoses are data: named once, in words that can be filled, over metrics and events that there are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import Formatter

import pytest

from tests.dashboards.declared import faults
from vigie.findings.core.finding import CRITICAL, INFO, LABELS, WARNING, Finding
from vigie.findings.core.occurrence import labels_of
from vigie.findings.core.registry import all_findings, find_finding

EVENTS = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
# What a sentence may have places for, beside the labels of a sighting.
WORDS = {
    "node", "nodes", "places", "gpus", "job", "job_id", "user", "hurt", "value", "value_of", "clock",
    "lasted", "told", "because", "process", "killed",
}  # fmt: skip
OF_THE_SERVER = {"node_lost", "node_stopped", "hardware_missing"}
OF_THE_SCHEDULER = {"node_drained"}  # told by the demo until there is a source for it


@pytest.mark.parametrize("one", all_findings(), ids=lambda one: one.name)
def test_sentences_can_be_filled_and_end_with_a_full_stop(one: Finding) -> None:
    for sentence in filter(None, (one.what, one.was, one.do, one.after)):
        places = {name for _, name, _, _ in Formatter().parse(sentence) if name}
        assert places <= WORDS | set(LABELS)
        assert sentence.endswith((".", "{killed}"))
    assert one.severity in (CRITICAL, WARNING, INFO)
    assert one.title == one.title.strip()
    assert len(one.title) < 30
    assert len(one.chip) < 16


@pytest.mark.parametrize("one", all_findings(), ids=lambda one: one.name)
def test_question_asks_only_for_what_is_declared(one: Finding) -> None:
    assert one.when or one.events
    assert not one.when or faults(one.when) == []


def test_question_that_asks_for_what_nobody_declares_is_found() -> None:
    assert faults("vigie_gpu_beauty_ratio > 1") != []


def test_events_are_such_as_are_told() -> None:
    known = {line.split("|")[1].strip() for line in EVENTS.read_text().splitlines() if line.startswith("|")}
    kinds = {kind for one in all_findings() for kind in one.events}
    assert kinds - known == OF_THE_SERVER | OF_THE_SCHEDULER


def test_names_are_unique_and_what_is_explained_exists() -> None:
    names = Counter(one.name for one in all_findings())
    assert set(names.values()) == {1}
    assert {word for one in all_findings() for word in one.explains} <= set(names)
    assert find_finding("node-lost").severity == CRITICAL


def test_every_file_of_the_package_has_a_diagnosis_or_is_a_part() -> None:
    folder = Path(__file__).parents[2] / "src" / "vigie" / "findings"
    parts = [path for path in folder.glob("*.py") if not path.name.startswith("_")]
    assert len(all_findings()) == len([path for path in parts if path.name != "alerts.py"])


def test_labels_without_a_value_are_left_out() -> None:
    assert labels_of(("gpu01", "3", *[""] * (len(LABELS) - 2))) == {"instance": "gpu01", "gpu": "3"}
