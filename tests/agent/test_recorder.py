from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.expositions import parse
from vigie.agent.recorder import record
from vigie.agent.scrubber import scrub, scrub_private
from vigie.agent.source_reader import SourceReader
from vigie.cli import main
from vigie.common.clock import SystemClock
from vigie.model import Sample, gauge
from vigie.sources.core.host import Host, HostRoots
from vigie.sources.core.replay import replay, unpack
from vigie.sources.core.source import Source

VALUE = gauge("vigie_value", "V.", "where")


def test_this_machine_replays_as_it_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "--record", str(tmp_path)]) == 0
    assert "Review the file" in capsys.readouterr().err
    flags = ["agent", "--once", "--replay", str(tmp_path)]
    assert main(flags) == 0
    first = parse(capsys.readouterr().out)
    assert main(flags) == 0
    assert parse(capsys.readouterr().out) == first
    assert main(["agent", "--once"]) == 0
    live = parse(capsys.readouterr().out)
    # The kernel's log is not recorded: it may name anybody.
    names = {name for name, _ in live.values if not name.startswith("vigie_kernel_log")}
    assert names - {name for name, _ in first.values} == set()


def test_recording_names_nobody(tmp_path: Path) -> None:
    main(["agent", "--record", str(tmp_path)])
    text = (tmp_path / "machine.txt").read_text(errors="surrogateescape")
    addresses = [path.read_text().strip() for path in Path("/sys/class/net").glob("*/address")]
    for secret in [*addresses, socket.gethostname()]:
        if len(secret) > 5 and secret != "00:00:00:00:00:00":
            assert secret not in text


def test_links_errors_and_empty_places_survive(tmp_path: Path) -> None:
    machine, tape, again = tmp_path / "machine", tmp_path / "tape", tmp_path / "again"
    real = machine / "sys" / "devices" / "pci0" / "card"
    real.mkdir(parents=True)
    (real / "value").write_text("7\n")
    (machine / "sys" / "class").mkdir()
    (machine / "sys" / "class" / "card0").symlink_to("../devices/pci0/card")
    (machine / "sys" / "empty").mkdir()
    for root in ("proc", "root"):
        (machine / root).mkdir()

    def read(host: Host) -> list[Sample]:
        assert host.sys.list_directory("empty") == []
        assert host.sys.read_link("class/card0").endswith("pci0/card")
        return [
            (VALUE, (name,), host.sys.read_number(f"class/{name}/value"))
            for name in host.sys.list_directory("class")
        ]

    source = Source("cards", (VALUE,), read)
    roots = HostRoots(*(str(machine / name) for name in HostRoots._fields))
    list(record([SourceReader(source, Host(roots), SystemClock())], tape))
    unpack((tape / "machine.txt").read_text(), str(again))
    assert read(replay(str(again))) == [(VALUE, ("card0",), 7)]
    assert os.readlink(again / "sys/class/card0") == "../devices/pci0/card"


def test_recorded_error_is_answered_again(tmp_path: Path) -> None:
    unpack("-- sys/a/energy ! EACCES --\n-- sys/a/name --\nx\n", str(tmp_path))
    host = replay(str(tmp_path))
    assert host.sys.read_text("a/name") == "x"
    assert host.sys.read_text("a/energy") is None
    assert list(host.notes.values()) == ["Permission denied"]


@pytest.mark.parametrize("path", ["../outside", "proc/../../outside", "/etc/outside"])
def test_archive_cannot_write_outside_its_directory(path: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="outside"):
        unpack(f"-- {path} --\nx\n", str(tmp_path / "in"))


def test_archive_cannot_write_through_a_link_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    archive = f"-- sys/door -> {tmp_path}/elsewhere --\n-- sys/door/file --\nx\n"
    unpack(archive, str(tmp_path / "in"))
    assert (tmp_path / "in/sys/door/file").read_text() == "x\n"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with pytest.raises(ValueError, match="outside"):
        unpack("-- sys/door -> ../../elsewhere --\n", str(tmp_path / "in"))


def test_scrubbing_keeps_equal_things_equal_and_says_what_went() -> None:
    archive = (
        "-- sys/class/net/eth0/address --\n52:54:00:aa:bb:cc\n"
        "-- proc/net/arp --\nIP address HW\n10.1.2.3 0x1 0x2 52:54:00:aa:bb:cc * eth0\n"
        "-- sys/class/dmi/id/product_serial --\nABC123\n"
        "-- proc/net/tcp --\n  0: 0302010A:1F90 0402010A:0050 01 00000000:00000000\n"
        "-- proc/mounts --\nsecrethost:/export /home/alice nfs\n"
    )
    text, replaced = scrub(archive, "secrethost")
    for secret in ("52:54:00", "10.1.2.3", "ABC123", "0302010A", "secrethost", "alice"):
        assert secret not in text
    assert text.count("02:00:00:00:00:01") == 2
    assert "00000000:1F90" in text
    assert "the host name" in replaced


def test_recording_holds_nothing_that_people_wrote() -> None:
    environ = "SLURM_JOB_ID=17\0SLURM_JOB_NAME=secret-model\0AWS_SECRET_KEY=abc\n-- proc/1/x --\nabc\0"
    assert scrub_private("proc/7/environ", environ) == "SLURM_JOB_ID=17\0SLURM_JOB_NAME=scrubbed\0"
    assert scrub_private("proc/7/cmdline", "train\0--token\0abc\0") == "program\0"
    assert scrub_private("proc/7/status", "Name:\tsecret\nUid:\t5\n") == "Name:\tprocess\nUid:\t5\n"
    assert scrub_private("root/etc/passwd", "ada:x:5:5:Ada L.:/home/ada:/bin/sh\n") == "user5:x:5:5:::\n"
    spec = '{"process": {"env": ["TOKEN=abc"]}, "linux": {"cgroupsPath": "/default/c1"}}'
    path = "root/run/containerd/io.containerd.runtime.v2.task/default/c1/config.json"
    assert scrub_private(path, spec) == '{"linux": {"cgroupsPath": "/default/c1"}}\n'
    assert scrub_private(path, "[" * 99_999) == "{}\n"
    environments = '{"eid": "42", "username": "ada", "config": {"name": "secret"}}'
    hidden = '{"eid": "42", "username": "scrubbed", "config": {"name": "scrubbed"}}'
    assert scrub_private("root/var/tmp/genv/envs.json", environments) == hidden
    assert scrub_private("proc/meminfo", "as it is") == "as it is"
