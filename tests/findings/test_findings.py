"""Findings are data: sentences that can be filled, over metrics and events that exist."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

import pytest

from tests.dashboards.declared import faults
from vigie.findings.core.finding import CRITICAL, INFO, LABELS, WARNING, Finding
from vigie.findings.core.occurrence import name_labels
from vigie.findings.core.registry import all_findings, find_finding

EVENTS = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
# What a sentence may have places for, beside the labels of a sighting.
WORDS = {
    "node", "nodes", "places", "gpus", "job", "job_id", "user", "hurt", "value", "clock",
    "lasted", "told", "because", "process", "killed",
}  # fmt: skip
OF_THE_SERVER = {"node_lost", "node_stopped", "hardware_missing"}
OF_THE_SCHEDULER = {"node_drained"}  # told by the demo until there is a source for it


@pytest.mark.parametrize("one", all_findings(), ids=lambda one: one.name)
def test_sentences_can_be_filled_and_end_with_a_full_stop(one: Finding) -> None:
    for sentence in filter(None, (one.summary, one.resolved_summary, one.action, one.resolved_action)):
        places = {name for _, name, _, _ in Formatter().parse(sentence) if name}
        assert places <= WORDS | set(LABELS)
        assert sentence.endswith((".", ".{hurt}", "{killed}{hurt}"))
    assert one.severity in (CRITICAL, WARNING, INFO)
    assert one.title == one.title.strip()
    assert len(one.title) < 30
    assert len(one.badge) < 16


@pytest.mark.parametrize("one", all_findings(), ids=lambda one: one.name)
def test_question_asks_only_for_what_is_declared(one: Finding) -> None:
    assert one.query or one.events
    assert not one.query or faults(one.query) == []


def test_question_that_asks_for_what_nobody_declares_is_found() -> None:
    assert faults("vigie_gpu_beauty_ratio > 1") != []


def test_events_are_such_as_are_told() -> None:
    known = {line.split("|")[1].strip() for line in EVENTS.read_text().splitlines() if line.startswith("|")}
    kinds = {kind for one in all_findings() for kind in one.events}
    assert kinds - known == OF_THE_SERVER | OF_THE_SCHEDULER


def test_causes_and_effects_exist() -> None:
    names = {one.name for one in all_findings()}
    assert {name for one in all_findings() for name in (*one.explains, *one.explained_by)} <= names
    assert find_finding("node-lost").severity == CRITICAL


def test_every_file_of_the_package_is_a_finding_of_its_name() -> None:
    folder = Path(__file__).parents[2] / "src" / "vigie" / "findings"
    files = {path.stem for path in folder.glob("*.py") if not path.name.startswith("_")}
    assert {one.name.replace("-", "_") for one in all_findings()} == files


@pytest.mark.parametrize("one", all_findings(), ids=lambda one: one.name)
def test_finding_that_alerts_has_a_query(one: Finding) -> None:
    assert not one.alert_after or one.query


def test_labels_without_a_value_are_left_out() -> None:
    assert name_labels(("gpu01", "3", *[""] * (len(LABELS) - 2))) == {"instance": "gpu01", "gpu": "3"}
