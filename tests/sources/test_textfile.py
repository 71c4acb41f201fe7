from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources import textfile
from vigie.sources.core.host import Host
from vigie.sources.textfile import SOURCE

ERROR = "node_textfile_scrape_error"


@pytest.fixture
def host(machine: Machine, tmp_path: Path) -> Host:
    (tmp_path / "files").mkdir()
    return machine("", directory=str(tmp_path / "files"))


@pytest.fixture
def files(host: Host) -> Path:
    return Path(host.options["directory"])


def test_files_are_read_with_the_time_of_their_writing(host: Host, files: Path, samples: Samples) -> None:
    (files / "a.prom").write_text('# TYPE a counter\na{b="c"} 1\n')
    (files / "a.txt").write_text("not ours 1\n")
    os.utime(files / "a.prom", ns=(0, 1_700_000_000_900_000_000))
    assert samples(SOURCE, host) == {
        f'node_textfile_mtime_seconds{{file="{files}/a.prom"}}': 1_700_000_000,
        'a{b="c"}': 1,
        ERROR: 0,
    }


def test_without_a_directory_there_is_no_error_but_advice(machine: Machine, samples: Samples) -> None:
    host = machine("", directory="")
    assert samples(SOURCE, host) == {ERROR: 0}
    assert "[source.textfile]" in host.notes["directory"]


def test_a_directory_that_is_not_there_is_an_error(machine: Machine, samples: Samples) -> None:
    host = machine("", directory="/nonexistent")
    assert samples(SOURCE, host) == {ERROR: 1}
    assert host.notes == {"/nonexistent": "No such file or directory"}


def test_a_bad_file_costs_only_itself_at_every_read(host: Host, files: Path, samples: Samples) -> None:
    (files / "a.prom").write_text("a 1\n")
    (files / "bad.prom").write_text("b 1\nb one\n")
    for _ in range(2):
        host.notes.clear()
        found = samples(SOURCE, host)
        assert (found["a"], found[ERROR], "b" in found) == (1, 1, False)
        assert host.notes == {str(files / "bad.prom"): "line 2: 'one' is not a number"}
    (files / "bad.prom").write_text("b 1\n")
    assert samples(SOURCE, host)[ERROR] == 0


def test_an_unchanged_file_is_not_parsed_again(host: Host, files: Path, samples: Samples) -> None:
    (files / "a.prom").write_text("a 1\n")
    (files / "b.prom").write_text("b 1\n")
    first = samples(SOURCE, host)
    kept = dict(host.cache["files"])
    assert samples(SOURCE, host) == first
    (files / "b.prom").write_text("b 22\n")
    assert samples(SOURCE, host)["b"] == 22
    assert host.cache["files"][str(files / "a.prom")] is kept[str(files / "a.prom")]
    assert host.cache["files"][str(files / "b.prom")] is not kept[str(files / "b.prom")]


def test_a_file_that_goes_takes_its_series_with_it(host: Host, files: Path, samples: Samples) -> None:
    (files / "a.prom").write_text("a 1\n")
    samples(SOURCE, host)
    (files / "a.prom").unlink()
    assert samples(SOURCE, host) == {ERROR: 0}
    assert host.cache["files"] == {}


def test_what_is_no_regular_file_is_refused(host: Host, files: Path, samples: Samples) -> None:
    os.mkfifo(files / "pipe.prom")
    (files / "loop.prom").symlink_to("loop.prom")
    (files / "dir.prom").mkdir()
    (files / "gone.prom").symlink_to("nothing")
    assert samples(SOURCE, host) == {ERROR: 1}
    assert {Path(where).name: reason for where, reason in host.notes.items()} == {
        "pipe.prom": "not a regular file",
        "loop.prom": "Too many levels of symbolic links",
        "dir.prom": "not a regular file",
        "gone.prom": "No such file or directory",
    }


def test_a_link_to_a_regular_file_is_followed(host: Host, files: Path, samples: Samples) -> None:
    (files / "real").write_text("a 1\n")
    (files / "a.prom").symlink_to("real")
    assert samples(SOURCE, host)["a"] == 1


def test_families_of_several_files_stand_together(host: Host, files: Path) -> None:
    (files / "a.prom").write_text('x{a="1"} 1\ny 1\n')
    (files / "b.prom").write_text('x{b="2"} 2\n')
    names = [metric.name for metric, _, _ in SOURCE.read(host)]
    assert names == ["node_textfile_mtime_seconds", "node_textfile_mtime_seconds", "x", "x", "y", ERROR]


@pytest.mark.parametrize("second", ["a 2\n", '# TYPE a gauge\na{b="c"} 2\n', 'a{b=""} 2\n', f"{ERROR} 0\n"])
def test_a_file_that_contradicts_another_is_refused(
    second: str, host: Host, files: Path, samples: Samples
) -> None:
    (files / "1.prom").write_text("a 1\n")
    (files / "2.prom").write_text(second + "other 1\n")
    found = samples(SOURCE, host)
    assert (found["a"], found[ERROR], "other" in found) == (1, 1, False)


def test_too_much_is_refused(
    host: Host, files: Path, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textfile, "MAX_BYTES", 10)
    monkeypatch.setattr(textfile, "MAX_SERIES", 2)
    monkeypatch.setattr(textfile, "MAX_TOTAL_BYTES", 40)
    (files / "1.prom").write_text("a 1\nb 1\n")
    (files / "2.prom").write_text("c 1\n")
    (files / "3.prom").write_text("d" * 30 + " 1\n")
    (files / "4.prom").write_text("e 1\n")
    assert set(samples(SOURCE, host)) >= {"a", "b", ERROR}
    assert {Path(where).name: reason for where, reason in host.notes.items()} == {
        "2.prom": "more than 2 series with this file",
        "3.prom": "larger than 10 bytes",
        "4.prom": "too many files, or files too large",
    }


def test_what_is_not_utf8_is_refused(host: Host, files: Path, samples: Samples) -> None:
    (files / "a.prom").write_bytes(b'a{b="\xff"} 1\n')
    assert samples(SOURCE, host) == {ERROR: 1}
    assert list(host.notes.values()) == ["not UTF-8"]
