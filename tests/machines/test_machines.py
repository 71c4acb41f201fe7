"""A recorded machine in, its exposition out; `pytest tests/machines --rewrite` writes it anew."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.expositions import parse
from tests.machines import HERE, collected, unpacked
from vigie.agent.collector import Collector
from vigie.agent.source_reader import Outcome
from vigie.sources.core.registry import find_sources
from vigie.wire.exposition.renderer import TEXT, Renderer

MACHINES = sorted(path.name for path in HERE.iterdir() if any(path.glob("*.txt")))
Read = Callable[[str], tuple[Path, Collector]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Return a reader of recorded machines that reads each once, and tells where its files are."""

    @functools.cache
    def reading(machine: str) -> tuple[Path, Collector]:
        directory = unpacked(machine, tmp_path_factory.mktemp(machine))
        return directory, collected(directory, find_sources())

    return reading


def _said(directory: Path, collector: Collector) -> str:
    """Return the exposition, with each source's outcome and notes as comments above it."""
    lines = []
    for reading in collector.readers:
        reason = reading.reason.replace(str(directory), "")
        lines.append(f"# {reading.source.name}: {reading.outcome.value}" + (f": {reason}" if reason else ""))
        notes = (f"{where}: {why}".replace(str(directory), "") for where, why in reading.host.notes.items())
        lines += ["#   " + note.replace("\\", "\\\\").replace("\n", "\\n") for note in sorted(notes)]
    text = Renderer().render(collector.values(), TEXT).encode("utf-8", "replace").decode()
    return "\n".join(lines) + "\n" + text.replace(str(directory), "")


@pytest.mark.parametrize("machine", MACHINES)
def test_recorded_machine_gives_what_is_expected(
    machine: str, read: Read, request: pytest.FixtureRequest
) -> None:
    said = _said(*read(machine))
    expected = HERE / machine / "expected.prom"
    if request.config.getoption("--rewrite"):
        expected.write_text(said, encoding="utf-8")
    assert said == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("machine", MACHINES)
def test_no_source_fails_on_any_recorded_machine(machine: str, read: Read) -> None:
    readings = read(machine)[1].readers
    failed = {r.source.name: r.reason for r in readings if r.outcome not in (Outcome.OK, Outcome.UNAVAILABLE)}
    assert failed == {}
    assert all(reading.reason for reading in readings if reading.outcome is not Outcome.OK)


def test_there_are_four_machines_and_each_source_works_on_one() -> None:
    assert len(MACHINES) >= 4
    works = set()
    for machine in MACHINES:
        for line in (HERE / machine / "expected.prom").read_text().splitlines():
            if line.startswith("# ") and line.endswith(": ok"):
                works.add(line[2:].removesuffix(": ok"))
    # A recording holds files; NVIDIA's driver, AMD's package and Slurm's commands are none: their own tests
    # have stand-ins.
    elsewhere = ("nvidia", "amdsmi", "slurm")
    assert {
        source.name for source in find_sources() if not source.name.startswith(elsewhere)
    } - works == set()


@pytest.mark.parametrize("machine", MACHINES)
def test_every_series_is_declared_by_a_source(machine: str, read: Read) -> None:
    declared = functools.cache(_declared)
    for reading in read(machine)[1].readers:
        if reading.source.name == "textfile":
            continue  # it passes on what others declare
        for metric, labels in reading.values.table.series:
            assert len(labels) == len(metric.labels)
            assert declared(metric.name), metric.name


def _declared(name: str) -> bool:
    return any(metric.matches(name) for source in find_sources() for metric in source.metrics)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_counter_is_negative_or_nan(machine: str, read: Read) -> None:
    for reading in read(machine)[1].readers:
        for (metric, labels), value in zip(reading.values.table.series, reading.values.numbers, strict=True):
            assert metric.kind != "counter" or value >= 0, (metric.name, labels, value)


def test_exposition_of_every_machine_can_be_read_back() -> None:
    for machine in MACHINES:
        parse((HERE / machine / "expected.prom").read_text(encoding="utf-8"))
