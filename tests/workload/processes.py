"""Recorded processes, written by hand: the files of /proc that tell who they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vigie.sources.core.driver import GpuProcess, GpuUsers, Note
from vigie.sources.core.host import Host
from vigie.sources.core.replay import replay, unpack

BOOT = 1_700_000_000
PASSWD = (
    "root:x:0:0::/root:/bin/sh\nalice:x:2001:2001::/home/alice:/bin/sh\nbob:x:2002:2002::/home/bob:/bin/sh"
)
MACHINE = f"""\
-- calls.json --
{{"time": {BOOT + 5000}, "ticks": 100, "page_size": 4096, "zone": ["UTC", 0]}}
-- proc/stat --
cpu  1 2 3 4
btime {BOOT}
-- proc/meminfo --
MemTotal:       1000000 kB
SwapTotal:            0 kB
-- sys/devices/system/cpu/online --
0-3,8
-- root/etc/passwd --
{PASSWD}
"""


def process(
    pid: int,
    *,
    uid: int = 0,
    name: str = "python",
    start: float = 100,
    cgroup: Sequence[str] = ("0::/",),
    command: Sequence[str] = ("/usr/bin/python3", "/home/alice/train.py", "--token", "hunter2"),
    environ: Mapping[str, str] | None = None,
    cpu: int = 250,
    pages: int = 5000,
) -> str:
    """Return the files of one process, as part of an archive; it began so many seconds after the machine."""
    variables = "".join(f"{key}={value}\0" for key, value in (environ or {}).items())
    ticks = round(start * 100)
    numbers = f"1 {pid} {pid} 0 -1 0 0 0 0 0 {cpu} 50 0 0 20 0 3 0 {ticks} 999999 {pages} 0 0"
    return f"""\
-- proc/{pid}/stat --
{pid} ({name}) S {numbers}
-- proc/{pid}/status --
Name:	{name}
Uid:	{uid}	{uid}	{uid}	{uid}
-- proc/{pid}/cgroup --
{chr(10).join(cgroup)}
-- proc/{pid}/cmdline --
{chr(0).join((*command, ""))}
-- proc/{pid}/environ --
{variables}
-- proc/{pid}/io --
rchar: 9
wchar: 9
read_bytes: 4096
write_bytes: 8192
"""


def machine(directory: Path, *parts: str, **options: str) -> Host:
    """Return the machine that these parts of an archive make."""
    unpack("".join((MACHINE, *parts)), str(directory))
    return replay(str(directory), options)


class ScriptedGpus:
    """A driver with the processes that it was given, by GPU."""

    def __init__(self, *gpus: Sequence[GpuProcess] | None) -> None:
        self.gpus = list(gpus)
        self.silent: set[int] = set()

    def users(self, _: Note) -> list[GpuUsers]:
        """Return who is on each GPU that answers."""
        return [
            GpuUsers(index, f"GPU-{index}", {f"MIG-{index}-3": "3"}, None if one is None else tuple(one))
            for index, one in enumerate(self.gpus)
            if index not in self.silent
        ]
