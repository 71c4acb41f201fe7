"""Dashboards ask only for what is declared, and say of every panel what it shows and why."""

from __future__ import annotations

import re

import pytest

from tests.dashboards.asking import all_questions, everything, fill, names_in, panels, questions
from tests.dashboards.declared import Faults, faults, labels_of
from vigie.dashboards import all_dashboards, find_dashboard
from vigie.dashboards._choices import A_DISK, A_WIRE
from vigie.model.dashboard import KINDS, STATES, UNITS, Dashboard
from vigie.sources.core.registry import find_sources

BOARDS = pytest.mark.parametrize("board", all_dashboards(), ids=lambda board: board.slug)
PAGES = {
    "page-cluster": (),
    "page-job": ("job",),
    "page-node": ("node",),
    "page-gpu": ("node", "gpu"),
    "page-user": ("user",),
}
LISTED = {
    "cluster",
    "node",
    "gpu-node",
    "device-counters",
    "profiling",
    "infiniband",
    "containers",
    "triton",
    "llm",
    "slurm",
    "environments",
    "overview",
    "jobs",
    "itself",
}


@BOARDS
def test_every_question_parses_and_asks_only_for_declared_metrics_and_labels(board: Dashboard) -> None:
    wrong = {
        asked.id: found for asked in questions(board) if (found := faults(asked.text, asked.query.legend))
    }
    assert wrong == {}


@BOARDS
def test_every_variable_takes_values_of_a_declared_label_or_fixed_ones(board: Dashboard) -> None:
    known: dict[str, str] = {}
    for variable in board.variables:
        if variable.choices:
            assert variable.default in variable.choices
        else:
            selector = fill(variable.metric, known)
            assert faults(selector, f"{{{{{variable.by}}}}}") == []
        known[variable.name] = everything(variable)


def test_what_nobody_declares_is_found() -> None:
    assert faults("sum(rate(node_cpu_seconds_totl[5m]))") == ["nobody declares node_cpu_seconds_totl"]
    assert faults('up{rack="1"}') == ["no label rack for a matcher of up"]
    assert faults("sum by (gpu) (node_load1)") == ["no label gpu for sum by or without"]
    assert faults("node_load1 * on (instance, gpu) vigie_gpu_busy_ratio") == [
        "no label gpu for on or ignoring"
    ]
    assert faults("sum by (mode) (node_cpu_seconds_total)", "{{cpu}}") == ["no label cpu for its legend"]
    assert faults("vigie_gpu_mig_instance_info", "{{exported_instance}} {{profile}}") == []
    assert faults("(up or (nothing > 1))") == ["nobody declares nothing"]
    assert labels_of("node_rapl_package_joules_total") == frozenset({"instance", "job", "index", "path"})


@BOARDS
def test_every_panel_has_a_unit_a_kind_and_at_most_two_sentences_of_why(board: Dashboard) -> None:
    for panel in panels(board):
        assert panel.unit in UNITS
        assert panel.kind in KINDS
        assert panel.queries
        assert all(query.unit in UNITS for query in panel.queries)
        assert all(threshold.state in STATES for threshold in panel.thresholds)
        assert panel.why.endswith("."), panel.title
        assert panel.why.count(". ") < 2, panel.title
        assert panel.why[0].isupper() or panel.why[0].isdigit(), panel.title
    for section in board.sections:
        titles = [panel.title for panel in section.panels]
        assert len(titles) == len(set(titles)), section.title


@BOARDS
def test_sources_that_panels_need_are_there(board: Dashboard) -> None:
    needed = [name for panel in panels(board) for name in re.findall(r"the ([\w, ]+) source\b", panel.needs)]
    named = {word for names in needed for word in re.split(", | or ", names)}
    assert named <= {source.name for source in find_sources()}


@BOARDS
def test_columns_of_a_table_have_the_same_labels_so_that_rows_meet(board: Dashboard) -> None:
    tables: dict[str, set[frozenset[str]]] = {}
    for asked in questions(board):
        if asked.panel.kind == "table" and len(asked.panel.queries) > 1:
            tables.setdefault(asked.panel.title, set()).add(Faults(asked.text).labels)
    assert {title: labels for title, labels in tables.items() if len(labels) > 1} == {}


@BOARDS
def test_dashboards_use_every_variable_that_they_declare_and_no_other(board: Dashboard) -> None:
    texts = [query.promql for panel in panels(board) for query in panel.queries]
    texts += [variable.metric for variable in board.variables]
    used = set().union(*map(names_in, texts))
    assert used == {variable.name for variable in board.variables}


def test_every_dashboard_that_was_asked_for_is_there_under_one_slug() -> None:
    assert {board.slug for board in all_dashboards() if board.listed} == LISTED
    assert {board.slug for board in all_dashboards() if not board.listed} == set(PAGES)
    assert len({board.slug for board in all_dashboards()}) == len(all_dashboards())
    assert find_dashboard("nowhere") is None


def test_least_mean_and_most_across_the_gpus_of_a_node_can_be_chosen() -> None:
    overview = find_dashboard("cluster")
    assert overview is not None
    how = next(variable for variable in overview.variables if variable.name == "how")
    assert set(how.choices) == {"min", "avg", "max"}
    for choice in how.choices:
        assert all(faults(asked.text) == [] for asked in questions(overview, how=choice))


@pytest.mark.parametrize(
    ("pattern", "counted", "passed"),
    [
        (A_DISK, ["sda", "nvme0n1", "vda"], ["dm-0", "md0", "md127", "loop3", "ram1", "zram0"]),
        (
            A_WIRE,
            ["eth0", "eno1np0", "enp65s0f0"],
            ["lo", "bond0", "docker0", "veth1a", "eth0.7", "ib0", "br0"],
        ),
    ],
)
def test_sums_count_what_passes_through_a_virtual_device_once(
    pattern: str, counted: list[str], passed: list[str]
) -> None:
    excluded = re.compile(pattern.removeprefix('device!~"').removesuffix('"'))
    assert [name for name in [*counted, *passed] if not excluded.fullmatch(name)] == counted


def test_exporter_beside_an_agent_does_not_double_what_hosts_show() -> None:
    asked = [text for one in all_questions() for text in re.findall(r"\bnode_\w+(?:\{[^}]*\})?", one.text)]
    assert len(asked) > 100
    assert {text for text in asked if 'job="node"' not in text} == set()


def test_sums_over_disks_and_interfaces_leave_virtual_ones_out() -> None:
    summed = [
        one.text for one in all_questions() if re.search(r"\bsum\b.*node_(disk|network)_\w+_total", one.text)
    ]
    assert len(summed) >= 4
    assert [text for text in summed if A_DISK not in text and A_WIRE not in text] == []


@pytest.mark.parametrize(("slug", "variables"), PAGES.items())
def test_pages_have_at_most_eight_charts_before_more(slug: str, variables: tuple[str, ...]) -> None:
    board = find_dashboard(slug)
    assert board is not None
    assert len(board.sections[0].panels) <= 8
    assert tuple(variable.name for variable in board.variables) == variables
