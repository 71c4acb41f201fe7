from __future__ import annotations

import errno
import logging

import pytest

from tests.agent.sources import VALUE, failing, reading, steady
from vigie.agent.source_reader import Outcome
from vigie.model import Sample, counter, gauge
from vigie.sources.core.source import Source, Unavailable


def test_samples_become_a_table_and_its_numbers() -> None:
    read = reading(steady("a", 3.5))
    read.read()
    assert read.outcome is Outcome.OK
    assert read.values.table.series == ((VALUE, ("a",)),)
    assert read.values.numbers == (3.5,)


def test_absent_value_gives_no_sample_and_is_not_zero() -> None:
    first, second = gauge("vigie_a", "A."), gauge("vigie_b", "B.")
    source = Source("s", (first, second), lambda _: iter([(first, (), None), (second, (), 0.0)]))
    read = reading(source)
    read.read()
    assert read.values.table.series == ((second, ()),)
    assert read.values.numbers == (0.0,)


def test_only_absent_values_leave_an_empty_table() -> None:
    read = reading(steady("a", None))
    read.read()
    assert read.values.numbers == ()


def test_source_without_samples_is_unavailable_with_a_reason() -> None:
    read = reading(Source("s", (), lambda _: iter(())))
    read.read()
    assert read.outcome is Outcome.UNAVAILABLE
    assert "not present" in read.reason


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (Unavailable("no such card"), Outcome.UNAVAILABLE, "no such card"),
        (
            FileNotFoundError(errno.ENOENT, "x", "/proc/nope"),
            Outcome.UNAVAILABLE,
            "/proc/nope does not exist",
        ),
        (
            PermissionError(errno.EACCES, "x", "/sys/secret"),
            Outcome.UNAVAILABLE,
            "no permission to read /sys/s",
        ),
        (ValueError("bad digit"), Outcome.ERROR, "ValueError: bad digit"),
        (RecursionError("deep"), Outcome.ERROR, "RecursionError: deep"),
    ],
)
def test_each_failure_has_its_outcome_and_reason(error: Exception, outcome: Outcome, reason: str) -> None:
    read = reading(failing("s", error))
    read.read()
    assert read.outcome is outcome
    assert reason in read.reason
    assert read.errors == (1 if outcome is Outcome.ERROR else 0)


def test_rows_are_grouped_by_metric_and_a_repeated_series_is_kept_once() -> None:
    received, sent = counter("vigie_rx_total", "R.", "dev"), counter("vigie_tx_total", "T.", "dev")
    rows: list[Sample] = [
        (received, ("a",), 1),
        (sent, ("a",), 2),
        (received, ("b",), 3),
        (sent, ("b",), 4),
        (sent, ("a",), 99),
    ]
    read = reading(Source("s", (received, sent), lambda _: iter(rows)))
    read.read()
    assert [(m.name, *labels) for m, labels in read.values.table.series] == [
        ("vigie_rx_total", "a"),
        ("vigie_rx_total", "b"),
        ("vigie_tx_total", "a"),
        ("vigie_tx_total", "b"),
    ]
    assert read.values.numbers == (1, 3, 2, 4)


def test_version_changes_only_when_series_come_or_go() -> None:
    rows: list[Sample] = [(VALUE, ("a",), 1.0)]
    read = reading(Source("s", (VALUE,), lambda _: iter(list(rows))))
    read.read()
    first = read.values.table
    rows[0] = (VALUE, ("a",), 2.0)
    read.read()
    assert read.values.table is first
    rows.append((VALUE, ("b",), 3.0))
    read.read()
    assert read.values.table.version == first.version + 1


def test_failing_source_ends_its_series_and_recovers() -> None:
    broken = [False]

    def rows(_: object) -> list[Sample]:
        if broken[0]:
            raise OSError(errno.EIO, "Input/output error", "/sys/x")
        return [(VALUE, ("a",), 1.0)]

    read = reading(Source("s", (VALUE,), rows))
    read.read()
    broken[0] = True
    read.read()
    assert (read.outcome, read.values.numbers) == (Outcome.ERROR, ())
    broken[0] = False
    read.read()
    assert (read.outcome, read.values.numbers) == (Outcome.OK, (1.0,))


def test_failure_is_logged_once_per_change(caplog: pytest.LogCaptureFixture) -> None:
    read = reading(failing("s", ValueError("x")))
    with caplog.at_level(logging.INFO):
        for _ in range(5):
            read.read()
    assert len(caplog.records) == 1
    assert read.errors == 5


def test_counter_below_nothing_is_garbage_and_costs_only_itself() -> None:
    total, level = counter("vigie_a_total", "A."), gauge("vigie_level", "L.")
    read = reading(Source("s", (total, level), lambda _: iter([(total, (), -1), (level, (), -2)])))
    read.read()
    assert read.values.table.series == ((level, ()),)
    assert read.host.notes == {"vigie_a_total": "negative counter: -1"}
