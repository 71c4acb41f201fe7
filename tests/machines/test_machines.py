"""A recorded machine in, its exposition out; `pytest tests/machines --rewrite` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.expositions import parse
from tests.machines import HERE, collected, unpacked
from vigie.agent.exposition import TEXT, Renderer
from vigie.agent.reading import Outcome
from vigie.sources._registry import find

MACHINES = sorted(path.name for path in HERE.iterdir() if any(path.glob("*.txt")))


def _said(machine: str, directory: Path) -> str:
    """Return the exposition, with each source's outcome and notes as comments above it."""
    collector = collected(unpacked(machine, directory), find())
    lines = []
    for reading in collector.readings:
        reason = reading.reason.replace(str(directory), "")
        lines.append(f"# {reading.source.name}: {reading.outcome.value}" + (f": {reason}" if reason else ""))
        for where, why in sorted(reading.host.notes.items()):
            note = f"{where}: {why}".replace(str(directory), "")
            lines.append("#   " + note.replace("\\", "\\\\").replace("\n", "\\n"))
    text = Renderer().render(collector.values(), TEXT).encode("utf-8", "replace").decode()
    return "\n".join(lines) + "\n" + text.replace(str(directory), "")


@pytest.mark.parametrize("machine", MACHINES)
def test_recorded_machine_gives_what_is_expected(
    machine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    said = _said(machine, tmp_path)
    expected = HERE / machine / "expected.prom"
    if request.config.getoption("--rewrite"):
        expected.write_text(said, encoding="utf-8")
    assert said == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("machine", MACHINES)
def test_no_source_fails_on_any_recorded_machine(machine: str, tmp_path: Path) -> None:
    readings = collected(unpacked(machine, tmp_path), find()).readings
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
    # A recording holds files, and NVIDIA's driver is none: tests/sources/nvidia has a simulated one.
    assert {source.name for source in find() if not source.name.startswith("nvidia")} - works == set()


@pytest.mark.parametrize("machine", MACHINES)
def test_every_series_is_declared_by_a_source(machine: str, tmp_path: Path) -> None:
    declared = [metric for source in find() for metric in source.metrics]
    for reading in collected(unpacked(machine, tmp_path), find()).readings:
        if reading.source.name == "textfile":
            continue  # it passes on what others declare
        for metric, labels in reading.values.table.series:
            assert len(labels) == len(metric.labels)
            assert any(row.declares(metric.name) for row in declared), metric.name


@pytest.mark.parametrize("machine", MACHINES)
def test_no_counter_is_negative_or_nan(machine: str, tmp_path: Path) -> None:
    for reading in collected(unpacked(machine, tmp_path), find()).readings:
        for (metric, labels), value in zip(reading.values.table.series, reading.values.numbers, strict=True):
            assert metric.kind != "counter" or value >= 0, (metric.name, labels, value)


def test_exposition_of_every_machine_can_be_read_back() -> None:
    for machine in MACHINES:
        parse((HERE / machine / "expected.prom").read_text(encoding="utf-8"))
