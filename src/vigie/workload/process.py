"""One process, from its files in /proc: who runs what since when, in which cgroup, with which variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from vigie.sources.core.host import Host
from vigie.sources.core.tree import to_printable
from vigie.workload.cgroup import NOBODY, CgroupOwner, identify_process

MAX_ENVIRONMENT = 1 << 20  # bytes of it that are looked at
MAX_COMMAND = 200  # letters
UID = re.compile(r"^[0-9]{1,10}$")
# All that is taken of an environment. CUDA_VISIBLE_DEVICES is not: inside a job it counts from 0 again.
VARIABLES = frozenset(
    {
        *("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_JOB_NAME", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT"),
        *("SLURM_JOB_SLUID", "SLURM_JOB_PARTITION", "GENV_ENVIRONMENT_ID", "GENV_ENVIRONMENT_NAME"),
        *("APPTAINER_NAME", "APPTAINER_CONTAINER", "SINGULARITY_NAME", "SINGULARITY_CONTAINER"),
    }
)
# What reads a program from a file; the file's name says more than its own.
INTERPRETER = re.compile(r"^(?:python|pypy|perl|ruby|node|julia|Rscript|bash|sh|dash|zsh|java|mpirun)[\d.]*$")
SECRET = re.compile(
    r"(?i)((?:[\w-]*(?:passw|secret|token|api[-_]?key|access[-_]?key|credential)[\w-]*)[= ]\s*)(\S+)|(://[^/@\s:]*:)[^@\s]+(?=@)"
)


class ProcessStat(NamedTuple):
    """What /proc/PID/stat tells."""

    name: str
    state: str
    parent: int
    cpu_ticks: int
    threads: int
    start_ticks: int  # since the machine started
    resident_pages: int


class ProcessIdentity(NamedTuple):
    """What a process is for as long as it lives."""

    pid: int
    start_ms: int
    name: str
    uid: int
    user: str
    command: str
    cgroup: CgroupOwner
    variables: Mapping[str, str]


def read_stat(host: Host, pid: int) -> ProcessStat | None:
    """Return a process's figures, or nothing when it has ended."""
    try:
        text = host.proc.read_once(f"{pid}/stat")
    except OSError:
        return None
    begin, end = text.find("("), text.rfind(")")  # the name may hold anything
    fields = text[end + 2 :].split(" ", 22)
    try:
        return ProcessStat(
            to_printable(text[begin + 1 : end]),
            fields[0],
            int(fields[1]),
            int(fields[11]) + int(fields[12]),
            int(fields[17]),
            int(fields[19]),
            int(fields[21]),
        )
    except (IndexError, ValueError):
        return None


def read_identity(host: Host, pid: int, stat: ProcessStat, *, whole_command: bool = False) -> ProcessIdentity:
    """Return who a process is; what may not be read is empty, and noted."""
    uid = _uid(host, pid)
    return ProcessIdentity(
        pid,
        boot_ms(host) + round(stat.start_ticks * 1000 / host.calls.ticks),
        stat.name,
        uid,
        user_name(host, uid),
        _command(host, pid, stat.name, whole=whole_command),
        _cgroup(host, pid),
        _variables(host, pid),
    )


def boot_ms(host: Host) -> int:
    """Return when the machine started."""
    known: int = host.cache.get("boot_ms", 0)
    if not known:
        text = host.proc.read_once("stat")
        found = re.search(r"^btime (\d{1,12})$", text, re.MULTILINE)
        known = host.cache["boot_ms"] = int(found[1]) * 1000 if found else 0
    return known


def user_name(host: Host, uid: int) -> str:
    """Return a user's name, or the number where nobody can say; from the machine's own file first."""
    names: dict[int, str] = host.cache.setdefault("users", {})
    if uid < 0:
        return ""
    if uid not in names:
        if len(names) > 10_000:
            names.clear()
        names.update(_passwd(host))
        names.setdefault(uid, host.calls.user_name(uid) or str(uid))
    return names[uid]


def scrub_arguments(arguments: list[str], *, whole: bool = False) -> str:
    """Return a command for people: program and script; or everything but what looks like a secret."""
    if whole:
        text = " ".join(arguments)
        return SECRET.sub(lambda found: f"{found[1] or found[3]}***", text)[:MAX_COMMAND]
    if not arguments:
        return ""
    program = arguments[0].rpartition("/")[2]
    words = [program]
    if INTERPRETER.match(program):
        words += _script(arguments[1:])
    return " ".join(words)[:MAX_COMMAND]


def _script(arguments: list[str]) -> list[str]:
    for place, word in enumerate(arguments):
        if word == "-m" and place + 1 < len(arguments):
            return ["-m", arguments[place + 1]]
        if word in ("-c", "-e", "-"):
            return [word]
        if not word.startswith("-"):
            return [word.rpartition("/")[2]]
    return []


def _command(host: Host, pid: int, name: str, *, whole: bool) -> str:
    try:
        text = host.proc.read_head(f"{pid}/cmdline", 65536)
    except OSError:
        return name
    command = scrub_arguments([word for word in text.split("\0") if word.strip()], whole=whole)
    return to_printable(" ".join(command.split())) or name


def _uid(host: Host, pid: int) -> int:
    try:
        text = host.proc.read_once(f"{pid}/status")
    except OSError:
        return -1
    found = re.search(r"^Uid:\s+(\d{1,10})\s", text, re.MULTILINE)
    return int(found[1]) if found else -1


def _passwd(host: Host) -> dict[int, str]:
    try:
        text = host.root.read_once("etc/passwd")
    except OSError:
        return {}
    rows = (line.split(":") for line in text.splitlines())
    return {int(row[2]): to_printable(row[0]) for row in rows if len(row) > 3 and UID.match(row[2])}


def _cgroup(host: Host, pid: int) -> CgroupOwner:
    try:
        return identify_process(host.proc.read_once(f"{pid}/cgroup"))
    except OSError:
        return NOBODY


def _variables(host: Host, pid: int) -> dict[str, str]:
    try:
        text = host.proc.read_head(f"{pid}/environ", MAX_ENVIRONMENT)
    except OSError as error:
        if isinstance(error, PermissionError):
            host.note("environments of other users", "not readable: jobs and environments may be missing")
        return {}
    pairs = (word.partition("=") for word in text.split("\0"))
    return {name: to_printable(value[:200]) for name, _, value in pairs if name in VARIABLES and value}
