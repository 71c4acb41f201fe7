"""The kernel's log in a real journal, made by systemd's own tool and read by its own journalctl."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.real.conftest import need
from vigie.model import EventChange
from vigie.sources._journal import Journal
from vigie.sources.core.host import Host, HostRoots
from vigie.sources.core.source import Unavailable
from vigie.sources.kernel_log import SOURCE

WRITER = "/lib/systemd/systemd-journal-remote"
MACHINE = "0123456789abcdef0123456789abcdef"
WHEN = 1_763_262_245_000
XID = "NVRM: Xid (PCI:0000:41:00): {}, pid=1, name=a, text"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine without /dev/kmsg, whose journal is empty."""
    need("journalctl")
    need(WRITER)
    for path in ("proc/sys/kernel/random", f"root/var/log/journal/{MACHINE}", "root/dev"):
        (tmp_path / path).mkdir(parents=True)
    return tmp_path


def _write(top: Path, *messages: str, transport: str = "kernel", begin: int = 0) -> None:
    directory = top / "root/var/log/journal" / MACHINE
    entries = "".join(
        f"__REALTIME_TIMESTAMP={(WHEN + number) * 1000}\n__MONOTONIC_TIMESTAMP={number + 1}\n"
        f"_BOOT_ID={MACHINE}\n_TRANSPORT={transport}\nMESSAGE={message}\n\n"
        for number, message in enumerate(messages, begin)
    )
    target = directory / f"system{len(list(directory.iterdir()))}.journal"
    subprocess.run([WRITER, f"--output={target}", "-"], input=entries, text=True, check=True, timeout=60)


def _read(host: Host) -> list[EventChange]:
    host.cache.pop("journal", None)  # which is asked at most twice a minute
    assert {labels for metric, labels, _ in SOURCE.read(host) if metric.name.endswith("lines_total")}
    said = list(host.event_changes)
    host.event_changes.clear()
    return said


def test_kernel_lines_of_the_journal_are_events_once_over_a_restart(root: Path) -> None:
    _write(root, "usb 1-1: new device", XID.format(79))
    _write(root, XID.format(31), transport="syslog")
    roots = HostRoots(str(root / "proc"), str(root / "sys"), str(root / "root"))
    host = Host(roots)
    found = _read(host)
    assert [(said.event.kind, said.event.where["xid"], said.event.begin_ms) for said in found] == [
        ("xid", "79", WHEN + 1)
    ]
    assert "reading the journal instead" in host.notes["/dev/kmsg"]
    again = Host(roots)
    again.persistent.update(host.persistent)
    assert _read(again) == []
    _write(root, XID.format(48), begin=10)
    assert [said.event.where["xid"] for said in _read(again)] == ["48"]


def test_journal_that_cannot_be_read_says_why(root: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no readable journal"):
        Journal(str(tmp_path / "nothing"), {})
    (root / "root/var/log/journal" / MACHINE / "system.journal").write_bytes(b"garbage" * 100)
    broken = Journal(str(root / "root"), {"cursor": "nonsense"})
    for _ in range(2):  # not as if there was nothing new, so that a log file is read instead
        with pytest.raises(Unavailable, match="journalctl"):
            list(broken.lines())


def test_directory_without_a_journal_is_none_and_the_other_place_is_read(root: Path) -> None:
    with pytest.raises(Unavailable, match="no readable journal"):
        Journal(str(root / "root"), {})
    _write(root, XID.format(79))
    (root / "root/run/log").mkdir(parents=True)
    (root / "root/var/log/journal").rename(root / "root/run/log/journal")
    (root / f"root/var/log/journal/{MACHINE}").mkdir(parents=True)
    assert [line.text for line in Journal(str(root / "root"), {}).lines()] == [XID.format(79)]
