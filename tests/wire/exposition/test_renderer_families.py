from __future__ import annotations

from pathlib import Path

import pytest

from tests.expositions import parse
from vigie.agent.source_reader import SourceReader
from vigie.common.clock import SystemClock
from vigie.sources.core.host import Host
from vigie.sources.textfile import SOURCE
from vigie.wire.exposition.renderer import OPENMETRICS, TEXT, Format, Renderer

FILE = """\
# HELP h Time that it took.
# TYPE h histogram
h_bucket{op="read",le="0.1"} 1
h_bucket{op="read",le="+Inf"} 2
h_sum{op="read"} 3.5
h_count{op="read"} 2
h_bucket{op="write",le="+Inf"} 4
h_sum{op="write"} 5
h_count{op="write"} 4
# HELP job_count Another kind of time.
# TYPE job_count summary
job_count{quantile="0.5"} 1
job_count_sum 3
job_count_count 2
# HELP mixed Labels that differ from series to series.
# TYPE mixed gauge
mixed{a="1"} 1
mixed{b="%"} 2
"""


def _said(text: str, directory: Path, form: Format) -> str:
    (directory / "a.prom").write_text(text)
    reading = SourceReader(SOURCE, Host(options={"directory": str(directory)}), SystemClock())
    reading.read()
    return Renderer().render([reading.values], form)


@pytest.mark.parametrize("form", [TEXT, OPENMETRICS])
def test_a_family_has_one_header_and_its_own_type(form: Format, tmp_path: Path) -> None:
    said = _said(FILE, tmp_path, form)
    types = [line for line in said.splitlines() if line.startswith("# TYPE") and "node_" not in line]
    assert types == ["# TYPE h histogram", "# TYPE job_count summary", "# TYPE mixed gauge"]
    assert "# HELP h Time that it took.\n# TYPE h histogram\nh_bucket" in said


def test_what_was_read_is_written_again(tmp_path: Path) -> None:
    said, wanted = parse(_said(FILE, tmp_path, TEXT)), parse(FILE)
    passed = {series: value for series, value in said.values.items() if not series[0].startswith("node_")}
    assert passed == wanted.values
    assert {name: kind for name, kind in said.kinds.items() if not name.startswith("node_")} == wanted.kinds
