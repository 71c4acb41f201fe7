"""Ports of a recorded fabric beside prometheus-node-exporter: the same series, kinds and values."""

from __future__ import annotations

from pathlib import Path

from tests.expositions import parse, spell
from tests.machines import unpacked
from tests.real.conftest import Start, get


def test_every_series_of_its_infiniband_collector_is_ours_with_the_same_value(
    exporter: Start, agent: Start, tmp_path: Path
) -> None:
    top = unpacked("mi300x", tmp_path)
    for line in (top / "errors").read_text().splitlines():
        (top / line.rpartition(" ")[0]).unlink()  # only our own replay can make a file answer an error
    peer = exporter(f"--path.sysfs={top}/sys", "--collector.disable-defaults", "--collector.infiniband")
    ours = agent(f"--sysfs={top}/sys", "--sources=infiniband", "--cadence=60")
    theirs, said = parse(get(f"{peer}/metrics")), parse(get(f"{ours}/metrics?fresh"))
    wanted = {
        series: value for series, value in theirs.values.items() if series[0].startswith("node_infiniband")
    }
    assert len(wanted) > 60
    assert {
        spell(series): value for series, value in wanted.items() if said.values.get(series) != value
    } == {}
    kinds = {name: kind for name, kind in theirs.kinds.items() if name.startswith("node_infiniband")}
    assert {name: kind for name, kind in kinds.items() if said.kinds[name] != kind} == {}
