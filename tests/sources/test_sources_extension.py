"""A metric is one row, a source one file: both added from outside the package."""

from __future__ import annotations

import inspect
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from vigie.cli import main
from vigie.sources import vmstat
from vigie.sources.core import registry

UPTIME = '''
"""How long the machine has been up, from /proc/uptime."""

from vigie.model import gauge
from vigie.sources.core.source import Source

METRICS = (gauge("vigie_uptime_seconds", "How long the machine has been up."),)


def read(host):
    """Yield the uptime."""
    yield METRICS[0], (), float(host.proc.read("uptime").split()[0])


SOURCE = Source("uptime", METRICS, read)
'''


def test_source_is_one_file_and_one_recorded_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources, machine = tmp_path / "sources", tmp_path / "machine"
    sources.mkdir()
    machine.mkdir()
    (sources / "uptime.py").write_text(UPTIME)
    (machine / "case.txt").write_text("-- proc/uptime --\n12.5 99.0\n")
    flags = ["--source-dirs", str(sources), "--sources", "uptime", "--replay", str(machine)]
    assert main(["agent", "--once", *flags]) == 0
    assert capsys.readouterr().out == (
        "# HELP vigie_uptime_seconds How long the machine has been up.\n"
        "# TYPE vigie_uptime_seconds gauge\n"
        "vigie_uptime_seconds 12.5\n"
    )


def test_metric_is_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = "METRICS = (\n"
    row = '    untyped("node_vmstat_pgsteal_direct", "Pages freed by the tasks that wanted memory."),\n'
    code = inspect.getsource(vmstat)
    assert code.count(first) == 1
    (tmp_path / "vmstat.py").write_text(code.replace(first, first + row))
    (tmp_path / "case.txt").write_text("-- proc/vmstat --\npgfault 7\npgsteal_direct 42\n")
    flags = ["--source-dirs", str(tmp_path), "--sources", "vmstat", "--replay", str(tmp_path)]
    assert main(["agent", "--once", *flags]) == 0
    assert "node_vmstat_pgsteal_direct 42\n" in capsys.readouterr().out


def test_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "uptime.py"
    path.write_text(UPTIME)
    path.chmod(0o666)
    with pytest.raises(registry.InvalidSourceError, match="writable by another user"):
        registry.find_sources([str(tmp_path)])


@pytest.mark.parametrize(("code", "why"), [("x = 1", "defines no SOURCE"), ("1/0", "ZeroDivisionError")])
def test_file_without_a_source_is_named(tmp_path: Path, code: str, why: str) -> None:
    (tmp_path / "broken.py").write_text(code)
    with pytest.raises(registry.InvalidSourceError, match=rf"broken\.py.*{why}"):
        registry.find_sources([str(tmp_path)])


def test_sources_that_are_off_are_not_imported() -> None:
    program = """
import sys
from vigie.cli.settings import flags
import argparse
parser = argparse.ArgumentParser()
flags.add_arguments(parser, "agent")
settings = flags.resolve(parser.parse_args(sys.argv[1:]))
print(*[name for name in sys.modules if name.startswith("vigie.sources.optional.")])
print(*settings.left_out)
"""
    run = partial(subprocess.run, capture_output=True, text=True, check=True)
    nothing, left_out = run([sys.executable, "-c", program]).stdout.split("\n")[:2]
    assert nothing == ""
    assert set(registry.optional_names()) <= set(left_out.split())
    one = run([sys.executable, "-c", program, "--with-sources=zoneinfo", "--option=systemd.details=on"])
    imported = one.stdout.split("\n")[0].split()
    assert {name.rpartition(".")[2] for name in imported} == {"zoneinfo", "systemd"}


def test_an_optional_source_is_off_and_called_as_its_file_is() -> None:
    found = {source.name: source for source in registry.load_builtin()}
    assert {name: found[name].default for name in registry.optional_names()} == dict.fromkeys(
        registry.optional_names(), False
    )
