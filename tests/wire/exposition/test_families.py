"""Two sources that give one family: it stands once, with the series of both."""

from __future__ import annotations

from tests.expositions import parse
from vigie.model import ABSENT, Table, gauge
from vigie.model.table import TableValues
from vigie.wire.exposition.renderer import OPENMETRICS, TEXT, Renderer

BUSY = gauge("vigie_gpu_busy_ratio", "Share of time.", "gpu", "vendor")
FAN = gauge("vigie_gpu_fan_ratio", "Fan.", "gpu", "vendor")
LOAD = gauge("node_load1", "Load.")

AMD = Table("amdgpu", 1, ((BUSY, ("0", "amd")), (FAN, ("0", "amd"))))
NVIDIA = Table("nvidia", 1, ((FAN, ("0", "nvidia")), (BUSY, ("0", "nvidia"))))
OTHER = Table("loadavg", 1, ((LOAD, ()),))


def test_a_family_of_two_vendors_stands_once() -> None:
    parts = [
        TableValues(AMD, (0.1, 0.2), True),
        TableValues(OTHER, (3.0,), True),
        TableValues(NVIDIA, (0.4, 0.5), True),
    ]
    text = Renderer().render(parts, TEXT)
    assert text.count("# TYPE vigie_gpu_busy_ratio gauge\n") == 1
    assert text.count("# TYPE vigie_gpu_fan_ratio gauge\n") == 1
    assert sorted(parse(text).values.values()) == [0.1, 0.2, 0.4, 0.5, 3.0]
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert 'vigie_gpu_busy_ratio{gpu="0",vendor="nvidia"} 0.5' in lines
    assert lines.index('vigie_gpu_fan_ratio{gpu="0",vendor="amd"} 0.2') == 3


def test_absent_values_of_one_leave_the_others() -> None:
    parts = [TableValues(AMD, (ABSENT, 0.2), False), TableValues(NVIDIA, (0.4, 0.5), True)]
    assert sorted(parse(Renderer().render(parts, TEXT)).values.values()) == [0.2, 0.4, 0.5]


def test_tables_may_change_from_one_scrape_to_the_next() -> None:
    renderer = Renderer()
    for form in (TEXT, OPENMETRICS, TEXT):
        both = renderer.render(
            [TableValues(AMD, (0.1, 0.2), True), TableValues(NVIDIA, (0.4, 0.5), True)], form
        )
        one = renderer.render(
            [TableValues(AMD, (0.1, 0.2), True), TableValues(Table("nvidia", 2, ()), (), True)], form
        )
        assert both.count("{") == 4
        assert one.count("{") == 2
