"""Beside prometheus-node-exporter 1.5.0, asking a real systemd, booted in a namespace of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.programs import free_port, running

from tests.expositions import Exposition, parse, spell
from tests.real.conftest import get, need

# A manager of user units: it may run anywhere, and speaks as the manager of the system does. The bus
# has the system's address, which nothing outside the namespace sees.
BOOT = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/dbus /run/user/0
chmod 700 /run/user/0
export XDG_RUNTIME_DIR=/run/user/0 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket
export XDG_CONFIG_HOME={config} HOME={config}
trap 'kill $manager' TERM
/lib/systemd/systemd --user --log-target=null &
manager=$!
wait_for() {{ for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return; sleep 0.1; done; return 1; }}
wait_for systemctl --user is-active default.target
# The first to call has the bus started; the manager joins it then.
wait_for busctl --user status org.freedesktop.systemd1
wait_for systemctl --user is-failed broken.service
echo ready
wait $manager
"""
BUS = """<busconfig><type>session</type><listen>unix:path=/run/dbus/system_bus_socket</listen>
<auth>EXTERNAL</auth><policy context="default"><allow send_destination="*" eavesdrop="true"/>
<allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
"""
UNITS = {
    "dbus.socket": "[Socket]\nListenStream=/run/dbus/system_bus_socket\n",
    "dbus.service": "[Unit]\nRequires=dbus.socket\n[Service]\nType=notify\n"
    "ExecStart=dbus-daemon --config-file=%h/bus.conf --address=systemd: --nofork --nopidfile\n",
    "steady.service": "[Service]\nExecStart=/bin/sleep 1000\n",
    "broken.service": "[Service]\nType=oneshot\nExecStart=/bin/false\n",
    "often.timer": "[Timer]\nOnActiveSec=1ms\nUnit=broken.service\n",
    "door.socket": "[Socket]\nListenStream=/run/user/0/door\nAccept=yes\n",
    "door@.service": "[Service]\nExecStart=/bin/true\n",
    "default.target": "[Unit]\nRequires=basic.target\nAfter=basic.target steady.service\n"
    "Wants=dbus.socket steady.service often.timer door.socket\n",
}
DETAILS = ("restarts", "start-time", "task")


@pytest.fixture
def booted(tmp_path: Path) -> Iterator[list[str]]:
    """Return what to put before a command for it to see a machine with a systemd."""
    if os.geteuid():
        pytest.skip("only root can make a namespace for a systemd of its own")
    for program in ("dbus-daemon", "systemctl", "busctl", "unshare", "nsenter"):
        need(program)
    (tmp_path / "bus.conf").write_text(BUS)
    units = tmp_path / "systemd/user"
    units.mkdir(parents=True)
    for name, text in UNITS.items():
        (units / name).write_text(text)
    command = ["unshare", "-m", "bash", "-c", BOOT.format(config=tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            yield ["nsenter", "-m", "-t", str(process.pid), "--"]
        finally:
            process.terminate()


@contextlib.contextmanager
def _serving(command: list[str], listen: str) -> Iterator[str]:
    port = free_port()
    with running([*command, f"{listen}=127.0.0.1:{port}"], port, "/"):
        yield f"http://127.0.0.1:{port}"


def _units(text: str) -> Exposition:
    """Return the series of systemd, without the label that 1.5.0 does not have."""
    said = parse(text)
    values = {
        (name, labels if name != "node_systemd_version" else frozenset()): value
        for (name, labels), value in said.values.items()
        if name.startswith("node_systemd")
    }
    return Exposition(values, said.kinds)


def test_units_of_a_real_systemd_are_told_as_node_exporter_does(booted: list[str]) -> None:
    peer = [*booted, need("prometheus-node-exporter"), "--collector.disable-defaults", "--collector.systemd"]
    peer += [f"--collector.systemd.enable-{each}-metrics" for each in DETAILS]
    ours = [*booted, sys.executable, "-m", "vigie", "agent", "--sources=systemd", "--cadence=60"]
    ours += ["--option=systemd.details=on", "--socket=off"]
    with _serving(peer, "--web.listen-address") as theirs, _serving(ours, "--listen") as mine:
        said, expected = _units(get(f"{mine}/metrics?fresh")), _units(get(f"{theirs}/metrics"))
    assert len(expected.values) > 50
    assert [spell(series) for series in expected.values if series not in said.values] == []
    differ = {spell(series) for series, value in expected.values.items() if said.values[series] != value}
    # Tasks may come and go between the two.
    assert {name.partition("{")[0] for name in differ} <= {"node_systemd_unit_tasks_current"}
    kinds = {name: kind for name, kind in expected.kinds.items() if name.startswith("node_systemd")}
    assert {name: said.kinds[name] for name in kinds} == kinds
    text = [f"{spell(series)} {value}" for series, value in said.values.items()]
    assert 'node_systemd_unit_state{name="steady.service",state="active",type="simple"} 1.0' in text
    assert 'node_systemd_unit_state{name="broken.service",state="failed",type="oneshot"} 1.0' in text
    assert 'node_systemd_socket_accepted_connections_total{name="door.socket"} 0.0' in text
