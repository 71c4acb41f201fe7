"""The kernel's log as a source: a device that does not wait, files that rotate, a position that lasts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vigie.model import EventChange, Phase
from vigie.sources._log_files import FIRST_BYTES
from vigie.sources.core.host import Host, HostRoots, SystemCalls
from vigie.sources.core.source import Unavailable
from vigie.sources.kernel_log import MAX_PER_KIND, SOURCE

NOW = 1_763_262_245_000
UPTIME = 1000.0
BOOT = NOW - 1_000_000
XID = "NVRM: Xid (PCI:0000:41:00): {}, pid=1, name=a, text"


class Time(SystemCalls):
    """A machine whose clock stands until it is moved."""

    now = NOW / 1000

    def time(self) -> float:
        return self.now

    def time_zone(self) -> tuple[str, int]:
        return "UTC", 0


class Node:
    """A machine below a directory, and an agent on it that may be restarted."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.time = Time()
        self.lasting: dict[str, str] = {}
        for path in ("proc/sys/kernel/random", "root/dev", "root/var/log"):
            (top / path).mkdir(parents=True)
        self.kmsg = top / "root/dev/kmsg"
        self.log = top / "root/var/log/messages"
        self.reboot("boot-1")
        self.start()

    def reboot(self, boot_id: str) -> None:
        (self.top / "proc/sys/kernel/random/boot_id").write_text(f"{boot_id}\n")
        (self.top / "proc/uptime").write_text(f"{UPTIME} 0.0\n")

    def start(self) -> None:
        roots = HostRoots(str(self.top / "proc"), str(self.top / "sys"), str(self.top / "root"))
        self.host = Host(roots, calls=self.time)
        self.host.persistent.update(self.lasting)

    def restart(self) -> None:
        self.lasting = dict(self.host.persistent)
        self.host.close()
        self.start()

    def pass_time(self, seconds: float) -> None:
        self.time.now += seconds
        (self.top / "proc/uptime").write_text(f"{UPTIME + self.time.now - NOW / 1000} 0.0\n")

    def write(self, *records: str) -> None:
        with self.kmsg.open("a") as file:
            file.writelines(f"{record}\n" for record in records)

    def append(self, *lines: str) -> None:
        with self.log.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def read(self) -> list[EventChange]:
        self.samples = {metric.name: value or 0 for metric, _, value in SOURCE.read(self.host)}
        said = list(self.host.event_changes)
        self.host.event_changes.clear()
        return said

    def xids(self) -> list[str]:
        return [said.event.where["xid"] for said in self.read() if said.event.kind == "xid"]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.host.close()


def _record(sequence: int, text: str, seconds: float = 500.0, priority: int = 4) -> str:
    return f"{priority},{sequence},{round(seconds * 1e6)},-;{text}"


def test_time_since_boot_becomes_time_of_the_wall_clock(node: Node) -> None:
    node.write(_record(7, XID.format(79)), " SUBSYSTEM=pci", " DEVICE=+pci:0000:41:00.0")
    (said,) = node.read()
    assert said.event.begin_ms == BOOT + 500_000
    assert said.event.where == {"pci_bus_id": "00000000:41:00.0", "xid": "79", "pid": "1", "comm": "a"}
    assert said.event.severity == "critical"
    assert "fallen off the bus" in said.event.what
    assert node.samples == {"vigie_kernel_log_lines_total": 1, "vigie_kernel_log_lost_total": 0}


def test_reset_that_a_reboot_cut_short_is_over_with_the_boot(node: Node) -> None:
    node.write(_record(1, "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!"))
    (begun,) = node.read()
    node.restart()
    assert node.read() == []
    node.kmsg.write_text("")
    node.reboot("boot-2")
    node.restart()
    (ended,) = node.read()
    assert (ended.phase, ended.key, ended.event.begin_ms) == (Phase.ENDS, begun.key, BOOT)
    node.restart()
    assert node.read() == []


def test_reset_that_ended_is_not_ended_by_a_reboot(node: Node) -> None:
    card = "amdgpu 0000:03:00.0: amdgpu: "
    node.write(_record(1, card + "GPU reset begin!"), _record(2, card + "GPU reset(1) succeeded!"))
    assert [said.phase for said in node.read()] == [Phase.BEGINS, Phase.ENDS]
    node.kmsg.write_text("")
    node.reboot("boot-2")
    node.restart()
    assert node.read() == []


def test_repeats_are_told_and_nothing_is_told_twice(node: Node) -> None:
    node.write(_record(1, XID.format(31)), _record(2, XID.format(31)))
    assert node.xids() == ["31", "31"]
    assert node.xids() == []
    node.write(_record(3, XID.format(13)))
    assert node.xids() == ["13"]


def test_a_restart_repeats_nothing_and_misses_nothing(node: Node) -> None:
    node.write(_record(1, XID.format(31)))
    assert node.xids() == ["31"]
    node.restart()
    node.write(_record(2, XID.format(79)))
    assert node.xids() == ["79"]


def test_after_a_reboot_numbers_begin_anew(node: Node) -> None:
    node.write(_record(900, XID.format(31)))
    assert node.xids() == ["31"]
    node.kmsg.unlink()
    node.reboot("boot-2")
    node.restart()
    node.write(_record(0, XID.format(79)))
    assert node.xids() == ["79"]
    assert node.samples["vigie_kernel_log_lost_total"] == 0


def test_lines_that_were_overwritten_are_counted_and_told(node: Node) -> None:
    node.write(_record(10, "one"), _record(14, "two"))
    (gap,) = node.read()
    assert gap.event.kind == "kernel_log_gap"
    assert gap.event.what.startswith("3 kernel messages")
    assert node.samples["vigie_kernel_log_lost_total"] == 3
    assert node.read() == []


def test_what_programs_wrote_into_the_kernels_log_is_no_event_and_no_gap(node: Node) -> None:
    node.write(_record(1, "one"), _record(2, XID.format(79), priority=12), _record(3, "three"))
    assert node.read() == []


def test_a_clock_that_drifts_puts_no_event_before_the_last_look_or_ahead_of_now(node: Node) -> None:
    node.write(_record(1, "one"))
    node.read()
    node.pass_time(10)
    node.write(_record(2, XID.format(31), seconds=900), _record(3, XID.format(31), seconds=2000))
    begins = [said.event.begin_ms for said in node.read()]
    assert begins == [NOW, NOW + 10_000]


def test_a_device_that_has_nothing_to_say_is_not_waited_for(node: Node) -> None:
    os.mkfifo(node.kmsg)
    writer = os.open(node.kmsg, os.O_RDWR | os.O_NONBLOCK)
    try:
        assert node.read() == []
        os.write(writer, (_record(1, XID.format(79)) + "\n" + _record(2, XID.format(48))[:20]).encode())
        assert node.xids() == ["79"]
        os.write(writer, (_record(2, XID.format(48))[20:] + "\n").encode())
        assert node.xids() == ["48"]
    finally:
        os.close(writer)


def test_a_flood_is_told_as_one(node: Node) -> None:
    node.write(*(_record(number, XID.format(31)) for number in range(MAX_PER_KIND + 25)))
    said = node.read()
    assert len(said) == MAX_PER_KIND + 1
    assert (said[-1].event.kind, said[-1].event.what) == ("flood", "25 more of xid")


def test_recovery_ends_what_began(node: Node) -> None:
    node.write(
        _record(1, "mlx5_core 0000:c1:00.0 ib0: Link down"), _record(2, "mlx5_core 0000:c1:00.0 ib0: Link up")
    )
    down, up = node.read()
    assert (down.phase, up.phase) == (Phase.BEGINS, Phase.ENDS)
    assert down.key == up.key


def test_without_the_device_a_log_file_is_read_in_both_forms_of_time(node: Node) -> None:
    node.append(
        f"Nov 16 02:00:00 gpu17 kernel: [1.5] {XID.format(119)}",
        f"2025-11-16T03:00:00.5+01:00 gpu17 kernel: {XID.format(79)}",
        f"Nov 16 02:00:02 gpu17 app[1]: {XID.format(13)}",
    )
    assert [(said.event.where["xid"], said.event.begin_ms) for said in node.read()] == [
        ("119", 1_763_258_400_000),
        ("79", 1_763_258_400_500),
    ]
    assert "instead" in node.host.notes["/dev/kmsg"]


def test_a_log_file_is_followed_over_restart_rotation_and_truncation(node: Node) -> None:
    line = f"Nov 16 02:00:00 gpu17 kernel: {XID}"
    node.append(line.format(1), "Nov 16 02:00:00 gpu17 kernel: half a li")
    assert node.xids() == ["1"]
    node.restart()
    node.append(line.format(2))
    assert node.xids() == ["2"]
    node.append(line.format(3))
    node.log.rename(node.log.with_name("messages.1"))
    node.append(line.format(4))
    assert node.xids() == ["3", "4"]
    node.log.write_text("")
    assert node.xids() == []
    node.append(line.format(5))
    assert node.xids() == ["5"]


def test_half_a_line_waits_for_its_end(node: Node) -> None:
    whole = f"Nov 16 02:00:00 gpu17 kernel: {XID.format(79)}"
    node.log.write_text(whole[:50])
    assert node.xids() == []
    node.log.write_text(whole + "\n")
    assert node.xids() == ["79"]


def test_of_a_large_log_only_the_end_is_read_at_first(node: Node) -> None:
    line = f"Nov 16 02:00:00 gpu17 kernel: {XID.format(31)}"
    node.append(*([line] * (2 * FIRST_BYTES // len(line))))
    node.read()
    assert node.samples["vigie_kernel_log_lines_total"] * len(line) <= FIRST_BYTES


def test_without_any_log_the_reasons_are_told(node: Node) -> None:
    with pytest.raises(Unavailable, match=r"dev/kmsg: No such file.*kern.log: No such file.*syslog"):
        node.read()
    node.write(_record(1, XID.format(79)))
    assert node.xids() == ["79"]


def test_another_device_in_its_place_is_not_read(node: Node) -> None:
    node.kmsg.symlink_to("/dev/null")
    with pytest.raises(Unavailable, match="another device"):
        node.read()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from(["kmsg", "log"]))
def test_garbage_gives_events_or_none(node: Node, data: bytes, which: str) -> None:
    node.kmsg.unlink(missing_ok=True)
    (node.kmsg if which == "kmsg" else node.log).write_bytes(data)
    node.restart()
    node.lasting.clear()
    node.start()
    node.read()
