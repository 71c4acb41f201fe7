"""Real Docker and Podman daemons of our own: own sockets, own data, no network."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.real.conftest import need
from tests.real.waiting import until

HOME = "/var/tmp"
IMAGE = "local/busy:1.0"
APPLETS = ("sh", "sleep", "dd", "cat", "head", "tail")
LIMITS = ("--cpus", "0.4", "--memory", "256m", "--network", "none", "--label", "team=ml")


def disk_limits() -> list[str]:
    """Return flags that limit the disk, far beyond what it can do: recent kernels count nothing without."""
    number = os.stat(HOME).st_dev
    uevent = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/uevent")
    names = dict(line.split("=", 1) for line in uevent.read_text().splitlines()) if uevent.exists() else {}
    device = Path("/dev") / names.get("DEVNAME", "missing")
    if not device.is_block_device():
        pytest.skip(f"{HOME} is on no block device, whose use could be counted")
    return ["--device-read-bps", f"{device}:100gb", "--device-write-bps", f"{device}:100gb"]


class Runtime(NamedTuple):
    """A daemon, and the command that speaks to it."""

    name: str
    command: list[str]
    socket: Path
    flags: tuple[str, ...] = ()
    remove: tuple[str, ...] = ("rm", "-f")

    def run(self, *arguments: str) -> str:
        """Run the runtime's own command."""
        done = subprocess.run(
            [*self.command, *arguments], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextlib.contextmanager
    def container(self, name: str, script: str, *flags: str) -> Iterator[str]:
        """Run a script in a container while the block lasts, and give its id."""
        started = self.run("run", "-d", *self.flags, *flags, "--name", name, IMAGE, "sh", "-c", script)
        try:
            yield started
        finally:
            subprocess.run([*self.command, *self.remove, name], capture_output=True, timeout=120, check=False)


@contextlib.contextmanager
def running_docker() -> Iterator[Runtime]:
    """Run a dockerd."""
    _need_root()
    program, client = need("dockerd"), need("docker")
    with _home() as home:
        socket = home / "docker.sock"
        places = [f"--data-root={home}/data", f"--exec-root={home}/exec", f"--pidfile={home}/pid"]
        quiet = ["--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs"]
        command = [program, *quiet, f"--host=unix://{socket}", *places]
        with _started(command, home / "log"):
            runtime = Runtime("docker", [client, f"--host=unix://{socket}"], socket)
            until(lambda: _answers(runtime), "dockerd answers")
            runtime.run("import", str(_image(home)), IMAGE)
            yield runtime


@contextlib.contextmanager
def running_podman() -> Iterator[Runtime]:
    """Run Podman's service."""
    _need_root()
    program = need("podman")
    need("runc")
    with _home() as home:
        socket = home / "podman.sock"
        places = [f"--root={home}/root", f"--runroot={home}/run", f"--tmpdir={home}/tmp"]
        ways = [
            "--runtime=runc",
            "--cgroup-manager=cgroupfs",
            "--storage-driver=vfs",
            "--events-backend=file",
        ]
        command = [program, *ways, *places]
        with _started([*command, "system", "service", "-t", "0", f"unix://{socket}"], home / "log"):
            limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
            runtime = Runtime("podman", command, socket, limits, ("rm", "-f", "-t", "0"))
            until(lambda: _answers(runtime), "podman answers")
            runtime.run("import", str(_image(home)), IMAGE)
            yield runtime


def _need_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may run containers' daemons")


@contextlib.contextmanager
def _home() -> Iterator[Path]:
    """Yield a directory on a disk: what containers write is to be seen there."""
    home = Path(tempfile.mkdtemp(prefix="vc-", dir=HOME))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def _started(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(runtime: Runtime) -> bool:
    done = subprocess.run([*runtime.command, "ps"], capture_output=True, timeout=60, check=False)
    return done.returncode == 0 and runtime.socket.exists()


def _image(home: Path) -> Path:
    """Return an image with busybox and nothing else, which no registry has to give."""
    folder = home / "image" / "bin"
    folder.mkdir(parents=True)
    shutil.copy(need("busybox"), folder / "busybox")
    for name in APPLETS:
        (folder / name).symlink_to("busybox")
    return Path(shutil.make_archive(str(home / "image"), "tar", home / "image"))
