"""Real containers that burn CPU, memory and disk: what we tell is what the kernel and the runtime say."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.containers import IMAGE, LIMITS, Runtime, disk_limits, running_docker, running_podman
from tests.real.waiting import until
from vigie.agent.source_reader import Outcome, SourceReader
from vigie.common.clock import SystemClock
from vigie.sources.core.host import Host
from vigie.workload.containers import SOURCE

BURN = "dd if=/dev/zero of=/file bs=1M count=24 oflag=direct; cat /file >/dev/null; while :; do :; done"
MIB = 1 << 20
Values = dict[tuple[str, ...], float]


@pytest.fixture(scope="module", params=["docker", "podman"])
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    """A daemon of each kind."""
    with {"docker": running_docker, "podman": running_podman}[request.param]() as found:
        yield found


class Watch:
    """Reads the containers of this machine."""

    def __init__(self, runtime: Runtime, **options: str) -> None:
        self.reading = SourceReader(
            SOURCE, Host(options={"sockets": str(runtime.socket), **options}), SystemClock()
        )

    def read(self, name: str) -> Values:
        """Return a container's values, by metric without its prefix and by labels behind the usual ones."""
        self.reading.read()
        assert self.reading.outcome is Outcome.OK, self.reading.reason
        values = self.reading.values
        return {
            (metric.name.removeprefix("container_"), *labels[3:]): number
            for (metric, labels), number in zip(values.table.series, values.numbers, strict=True)
            if labels[1:2] == (name,)
        }

    def path(self, name: str) -> str:
        """Return the path of a container's cgroup."""
        series = self.reading.values.table.series
        return next(labels[0] for _, labels in series if labels[1:2] == (name,))


def _file(controller: str, path: str, one: str, two: str) -> int:
    """Return the number in a cgroup's file, whichever version there is."""
    first = Path(f"/sys/fs/cgroup/{controller}{path}/{one}")
    return int((first if first.exists() else Path(f"/sys/fs/cgroup{path}/{two}")).read_text())


def test_container_has_its_name_and_image_and_its_kernels_figures(runtime: Runtime) -> None:
    watch = Watch(runtime)
    with runtime.container("burner", BURN, *LIMITS) as started:
        until(lambda: watch.read("burner").get(("cpu_usage_seconds_total", "total"), 0) > 1, "it burns")
        found = watch.read("burner")
        path = watch.path("burner")
        assert started in path
        memory = _file("memory", path, "memory.usage_in_bytes", "memory.current")
        assert found[("memory_usage_bytes",)] == pytest.approx(memory, abs=4 * MIB)
        assert found[("spec_memory_limit_bytes",)] == 256 * MIB
        assert found[("spec_cpu_quota",)] / found[("spec_cpu_period",)] == pytest.approx(0.4)
        assert found[("processes",)] == 1
        assert found[("threads",)] == _file("pids", path, "pids.current", "pids.current")
        assert found[("cpu_cfs_throttled_seconds_total",)] > 0
        images = {labels[2] for _, labels in watch.reading.values.table.series if labels[1:2] == ("burner",)}
        assert images == {IMAGE if runtime.name == "docker" else f"localhost/{IMAGE}"}
        held = [one for one in watch.reading.bindings if one.holder == "burner"]
        assert [(one.resource, one.holder_kind, one.user) for one in held] == [
            (f"cgroup:{path}", "container", "root")
        ]
    until(lambda: not watch.read("burner"), "it is gone")
    assert all(one.holder != "burner" for one in watch.reading.bindings)


def test_disk_use_is_counted_by_device(runtime: Runtime) -> None:
    watch = Watch(runtime)
    script = "dd if=/dev/zero of=/f bs=1M count=24 oflag=direct; dd if=/f of=/dev/null bs=1M iflag=direct"
    with runtime.container("disk", f"{script}; sleep 600", *LIMITS, *disk_limits()):
        found = until(lambda: _moved(watch.read("disk")), "24 MiB were written and read")
    assert all(device.startswith("/dev/") for _, device in found)
    assert sum(value for (name, _), value in found.items() if name == "fs_writes_total") >= 24


def _moved(values: Values) -> Values:
    """Return a container's use of disks once it has written and read all."""
    found = {key: value for key, value in values.items() if key[0].startswith(("fs_reads", "fs_writes"))}
    done = {name: value for (name, _), value in found.items()}
    enough = all(done.get(f"fs_{way}_bytes_total", 0) >= 24 * MIB for way in ("reads", "writes"))
    return found if enough else {}


def test_figures_are_those_of_the_runtimes_own_stats(runtime: Runtime) -> None:
    watch = Watch(runtime)
    with runtime.container("counted", BURN, *LIMITS):
        until(lambda: watch.read("counted").get(("cpu_usage_seconds_total", "total"), 0) > 1, "it burns")
        before = watch.read("counted")
        told = _stats(runtime, "counted")
        after = watch.read("counted")
    cpu = told["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9
    key = "cpu_usage_seconds_total", "total"
    assert before[key] - 0.01 <= cpu <= after[key] + 0.01
    assert told["memory_stats"]["usage"] == pytest.approx(after[("memory_usage_bytes",)], abs=4 * MIB)
    assert told["memory_stats"]["limit"] == after[("spec_memory_limit_bytes",)]
    assert told["pids_stats"]["current"] == after[("threads",)]


def _stats(runtime: Runtime, name: str) -> dict[str, Any]:
    """Return what `docker stats` is made of; Podman answers the same question."""
    command = ["curl", "-sS", "--unix-socket", str(runtime.socket)]
    url = f"http://localhost/containers/{name}/stats?stream=false"
    done = subprocess.run([*command, url], capture_output=True, timeout=60, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_traffic_is_counted_in_the_containers_own_namespace(runtime: Runtime) -> None:
    watch = Watch(runtime)
    with runtime.container("talker", "while :; do sleep 1; done", *LIMITS):
        pid = runtime.run("inspect", "--format", "{{.State.Pid}}", "talker")
        for command in (
            ["link", "add", "eth0", "type", "veth", "peer", "name", "peer0"],
            ["link", "set", "peer0", "up"],
            ["addr", "add", "192.0.2.1/24", "dev", "eth0"],
            ["link", "set", "eth0", "up"],
            ["neigh", "add", "192.0.2.2", "lladdr", "02:00:00:00:00:01", "dev", "eth0"],
        ):
            subprocess.run(["nsenter", "-t", pid, "-n", "ip", *command], check=True, timeout=30)
        ping = "import socket; socket.socket(2, 2).sendto(bytes(1000), ('192.0.2.2', 9))"
        subprocess.run(["nsenter", "-t", pid, "-n", "python3", "-c", ping], check=True, timeout=30)
        sent = until(
            lambda: watch.read("talker").get(("network_transmit_bytes_total", "eth0")), "the packet is seen"
        )
    assert sent >= 1000


def test_labels_and_written_space_are_the_runtimes_own(runtime: Runtime) -> None:
    watch = Watch(runtime, labels="team")
    with runtime.container(
        "writer", "dd if=/dev/zero of=/big bs=1M count=8; while :; do sleep 1; done", *LIMITS
    ):
        big = Path(f"/proc/{runtime.run('inspect', '--format', '{{.State.Pid}}', 'writer')}/root/big")
        until(lambda: big.stat().st_size >= 8 * MIB, "it has written")

        def used() -> list[float]:
            return [value for key, value in watch.read("writer").items() if key[0] == "fs_usage_bytes"]

        assert until(used, "the runtime has told")[0] >= 8 * MIB
        labels = {
            dict(zip(m.labels, v, strict=True)).get("container_label_team")
            for m, v in watch.reading.values.table.series
            if v[1:2] == ("writer",)
        }
    assert labels == {"ml"}


def test_daemon_that_does_not_answer_leaves_ids(runtime: Runtime, tmp_path: Path) -> None:
    watch = Watch(runtime._replace(socket=tmp_path / "nobody.sock"))
    with runtime.container("nameless", "while :; do sleep 1; done", *LIMITS) as started:
        until(lambda: watch.read(started[:12]), "it is there by its id")
        assert any("nobody.sock" in where for where in watch.reading.host.notes)
