from __future__ import annotations

import pytest

from vigie.model import ABSENT, NAN, Metric, Table, counter, gauge, info, untyped
from vigie.model.table import TableValues
from vigie.wire.exposition.renderer import OPENMETRICS, TEXT, Renderer


def rendered(rows: list[tuple[Metric, tuple[str, ...], float]], form: object = TEXT) -> str:
    table = Table("test", 1, tuple((metric, labels) for metric, labels, _ in rows))
    values = TableValues(table, tuple(value for _, _, value in rows))
    return Renderer().render([values], TEXT if form is TEXT else OPENMETRICS)


def test_text_has_help_type_and_a_line_for_each_series() -> None:
    seconds = counter("node_cpu_seconds_total", "Seconds.", "cpu", "mode")
    assert rendered([(seconds, ("0", "user"), 1.25), (seconds, ("0", "idle"), 7)]) == (
        "# HELP node_cpu_seconds_total Seconds.\n"
        "# TYPE node_cpu_seconds_total counter\n"
        'node_cpu_seconds_total{cpu="0",mode="user"} 1.25\n'
        'node_cpu_seconds_total{cpu="0",mode="idle"} 7\n'
    )


def test_openmetrics_names_the_family_without_total_and_never_renames_a_series() -> None:
    rows = [
        (counter("node_cpu_seconds_total", "Seconds."), (), 1.0),
        (counter("node_odd_counter", "Odd."), (), 2.0),
        (untyped("node_vmstat_pgfault", "Faults."), (), 3.0),
        (info("node_uname_info", "Kernel.", "release"), ("6.1",), 1.0),
        (gauge("node_memory_MemFree_bytes", "Free."), (), 4.0),
    ]
    assert rendered(rows, OPENMETRICS) == (
        "# HELP node_cpu_seconds Seconds.\n"
        "# TYPE node_cpu_seconds counter\n"
        "# UNIT node_cpu_seconds seconds\n"
        "node_cpu_seconds_total 1.0\n"
        "# HELP node_odd_counter Odd.\n"
        "# TYPE node_odd_counter unknown\n"
        "node_odd_counter 2.0\n"
        "# HELP node_vmstat_pgfault Faults.\n"
        "# TYPE node_vmstat_pgfault unknown\n"
        "node_vmstat_pgfault 3.0\n"
        "# HELP node_uname Kernel.\n"
        "# TYPE node_uname info\n"
        'node_uname_info{release="6.1"} 1.0\n'
        "# HELP node_memory_MemFree_bytes Free.\n"
        "# TYPE node_memory_MemFree_bytes gauge\n"
        "# UNIT node_memory_MemFree_bytes bytes\n"
        "node_memory_MemFree_bytes 4.0\n"
        "# EOF\n"
    )


@pytest.mark.parametrize(
    ("value", "spelled"), [(NAN, "NaN"), (float("inf"), "+Inf"), (float("-inf"), "-Inf"), (1e300, "1e+300")]
)
def test_odd_numbers_are_spelled_as_prometheus_reads_them(value: float, spelled: str) -> None:
    metric = gauge("g", "100% odd.")
    assert rendered([(metric, (), value)]) == f"# HELP g 100% odd.\n# TYPE g gauge\ng {spelled}\n"


def test_absent_value_is_left_out_and_its_neighbours_stay() -> None:
    metric = gauge("g", "G.", "n")
    text = rendered([(metric, ("1",), 1.0), (metric, ("2",), ABSENT), (metric, ("50%",), 3.0)])
    assert text.splitlines()[2:] == ['g{n="1"} 1.0', 'g{n="50%"} 3.0']


def test_label_values_are_escaped_and_empty_ones_left_out() -> None:
    metric = gauge("g", "Back\\slash\nand line.", "a", "b")
    assert rendered([(metric, ('q"\\\n%s', ""), 1)]) == (
        "# HELP g Back\\\\slash\\nand line.\n# TYPE g gauge\n" + 'g{a="q\\"\\\\\\n%s"} 1\n'
    )


def test_new_version_of_a_table_is_rendered_anew() -> None:
    renderer, metric = Renderer(), gauge("g", "G.", "n")
    first = TableValues(Table("t", 1, ((metric, ("a",)),)), (1.0,))
    second = TableValues(Table("t", 2, ((metric, ("b",)),)), (2.0,))
    assert 'n="a"' in renderer.render([first], TEXT)
    assert 'n="b"' in renderer.render([second], TEXT)
