"""What the tree promises, checked by reading it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vigie.agent import metrics as agent_metrics
from vigie.sources.core.registry import load_builtin

SRC = Path(__file__).parents[1] / "src" / "vigie"
STANDALONE = [*SRC.glob("model/*.py"), *SRC.glob("sources/**/*.py")]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


STARTS = {
    "_journal.py": "the journal's format is journalctl's own affair",
    "clients.py": "an embedded DCGM engine must not live in the agent",
}


@pytest.mark.parametrize("path", STANDALONE, ids=lambda path: path.name)
def test_what_is_sent_to_bare_hosts_needs_only_the_standard_library(path: Path) -> None:
    for module in _imports(path):
        top = module.partition(".")[0]
        assert top in sys.stdlib_module_names or module.startswith(("vigie.model", "vigie.sources"))
        assert top != "subprocess" or path.name in STARTS, "a source reads files; it starts nothing"


def test_no_file_outgrows_its_job() -> None:
    long = {str(path): n for path in SRC.rglob("*.py") if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}


def test_every_metric_is_declared_once_with_a_sentence_and_valid_names() -> None:
    metrics = [metric for source in load_builtin() for metric in source.metrics] + list(agent_metrics.METRICS)
    # The very same row may stand in two sources: GPUs of every vendor give the neutral family.
    names = [metric.name for metric in {id(metric): metric for metric in metrics}.values()]
    assert sorted({name for name in names if names.count(name) > 1}) == []
    for metric in metrics:
        assert metric.help.endswith("."), metric
        assert metric.help[0].isupper() or metric.help[0].isdigit() or metric.help[0] == "*", metric
        assert metric.name.replace("*", "x").isidentifier()
        assert all(label.isidentifier() for label in metric.labels)
        assert metric.kind in ("gauge", "counter", "untyped", "info", "histogram", "summary")


def test_our_own_names_follow_the_rules_that_conventional_ones_may_break() -> None:
    for metric in [m for source in load_builtin() for m in source.metrics] + list(agent_metrics.METRICS):
        if metric.name.startswith("vigie_"):
            assert metric.name.endswith("_total") == (metric.kind == "counter"), metric


def test_source_cadence_lets_no_table_travel_less_often_than_every_two_minutes() -> None:
    assert [source.name for source in load_builtin() if source.every > 120] == []
