"""A small machine whose processes, mounts and interfaces change."""

from __future__ import annotations

import random
import shutil
from pathlib import Path


class ChangingMachine:
    """Writes /proc and /sys files below a directory, slightly different at every step."""

    def __init__(self, directory: Path, *, seed: int = 1) -> None:
        self._proc = directory / "proc"
        self._net = directory / "sys" / "class" / "net"
        self._random = random.Random(seed)  # noqa: S311 - not a secret
        self._step = 0
        for made in (self._proc / "net", self._proc / "1", self._net, directory / "root"):
            made.mkdir(parents=True, exist_ok=True)

    def step(self) -> None:
        self._step += 1
        n = self._step
        cores = "".join(f"cpu{i} {n * 7 + i} 0 {n * 3} {n * 90} 0 0 0 0 0 0\n" for i in range(4))
        self._write("stat", f"cpu  0 0 0 0 0 0 0 0 0 0\n{cores}intr {n}\nctxt {n * 9}\nbtime 1700000000\n")
        self._write("loadavg", f"{n % 9}.25 1.00 0.50 1/99 {n}\n")
        self._write("meminfo", f"MemTotal: 1000000 kB\nMemFree: {500000 - n % 1000} kB\n")
        self._mounts()
        self._interfaces()
        self._processes()

    def _mounts(self) -> None:
        lines = ["21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"]
        for i in range(self._random.randrange(6)):
            name = f"job{self._step + i}"
            lines.append(f"{30 + i} 21 8:{i + 2} / /scratch/{name} rw - xfs /dev/{name} rw\n")
        self._write("1/mountinfo", "".join(lines))

    def _interfaces(self) -> None:
        wanted = {"lo", *(f"veth{self._step + i}" for i in range(self._random.randrange(4)))}
        for gone in {path.name for path in self._net.iterdir()} - wanted:
            shutil.rmtree(self._net / gone)
        rows = []
        for name in sorted(wanted):
            rows.append(f"{name:>6}: " + " ".join(str(self._step * k) for k in range(1, 17)) + "\n")
            if not (self._net / name).exists():
                self._interface(self._net / name)
        self._write("net/dev", "Inter-|   Receive |  Transmit\n face |bytes |bytes\n" + "".join(rows))

    def _interface(self, directory: Path) -> None:
        directory.mkdir()
        for name, text in (("mtu", "1500"), ("operstate", "up"), ("flags", "0x1003"), ("ifindex", "7")):
            (directory / name).write_text(text + "\n")

    def _processes(self) -> None:
        wanted = {str(1000 + self._step * 3 + i) for i in range(self._random.randrange(8))}
        for path in self._proc.iterdir():
            if path.name.isdecimal() and path.name not in wanted | {"1"}:
                shutil.rmtree(path)
        for pid in wanted:
            directory = self._proc / pid
            if directory.exists():
                continue
            directory.mkdir()
            state = self._random.choice("RSDZ")
            (directory / "stat").write_text(f"{pid} (job {pid}) {state} 1 " + "0 " * 15 + "3 0\n")

    def _write(self, name: str, text: str) -> None:
        # In place: a real kernel's file changes under an open descriptor.
        (self._proc / name).write_text(text)
