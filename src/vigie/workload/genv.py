"""genv's environments: the GPUs attached to them, their users, and the processes inside and outside.

The metrics, their labels and what they count are genv's own; nvidia-smi is not needed, nor is genv itself.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from vigie.model import Sample, gauge
from vigie.sources.core.driver import GpuState
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable
from vigie.sources.core.tree import to_printable
from vigie.workload._genv_state import GenvState, UnusableStateError, load_state, local_ms

METRICS = (
    INSTALLED := gauge("genv_is_installed", "1 if genv is installed on the node."),
    TEMPERATURE := gauge("genv_device_temperature", "GPU temperature in degrees Celsius.", "index"),
    UTILIZATION := gauge("genv_device_utilization", "GPU utilization in percent.", "index"),
    MEMORY_USED := gauge("genv_device_memory_used_bytes", "Used GPU memory.", "index"),
    MEMORY_TOTAL := gauge("genv_device_memory_total_bytes", "Total GPU memory.", "index"),
    ENVIRONMENTS := gauge("genv_environments_total", "Environments on the node."),
    PROCESSES := gauge("genv_processes_total", "Processes that use a GPU, inside environments or not."),
    ATTACHED := gauge("genv_attached_devices_total", "GPUs attached to an environment."),
    USERS := gauge("genv_users_total", "Users with an environment."),
    ENVIRONMENT_PROCESSES := gauge(
        "genv_environment_processes_total", "Processes of the environment that use a GPU.", "eid"
    ),
    ENVIRONMENT_ATTACHED := gauge(
        "genv_environment_attached_devices_total", "GPUs attached to the environment.", "eid"
    ),
    PROCESS_DEVICES := gauge("genv_process_devices_total", "GPUs used by the process.", "pid", "eid"),
    PROCESS_MEMORY := gauge(
        "genv_process_used_gpu_memory_bytes",
        "GPU memory used by the process.",
        "pid",
        "eid",
        "device",
    ),
    USER_ENVIRONMENTS := gauge("genv_user_environments_total", "Environments of the user.", "username"),
    USER_PROCESSES := gauge(
        "genv_user_processes_total", "Processes of the user's environments that use a GPU.", "username"
    ),
    USER_ATTACHED := gauge(
        "genv_user_attached_devices_total", "GPUs attached to the user's environments.", "username"
    ),
)
DIRECTORY = SourceOption(
    "directory",
    "",
    "Directory of genv's state files; when empty, GENV_TMPDIR of the agent, or else /var/tmp/genv.",
)
USUAL = "/var/tmp/genv"  # noqa: S108 - genv's own choice
ABSENT = SourceOption(
    "when_absent", "", "Any text: give the GPUs and genv_is_installed 0 on a node without genv, too."
)
VARIABLE = "GENV_ENVIRONMENT_ID="
PLACES = ("usr/local/bin", "usr/bin", "opt/conda/bin")


class GenvProcess(NamedTuple):
    """A process on GPUs, with the environment that it was started in and what it holds on each."""

    pid: int
    eid: str
    memory: dict[int, int | None]


def read(host: Host) -> Iterator[Sample]:
    """Yield what genv's own monitor would say, and which environment holds which GPU."""
    directory = host.options.get(DIRECTORY.name) or os.environ.get("GENV_TMPDIR") or USUAL
    state = _state(host, directory.strip("/"))
    gpus = _gpus(host)
    if state is None:
        if not host.options.get(ABSENT.name):
            raise Unavailable("genv is not used on this machine")
        if gpus is None:
            raise Unavailable("there is neither genv nor a GPU that can be read")
    yield INSTALLED, (), int(state is not None)
    yield from _devices(gpus or ())
    if state is None:
        return
    _bind(host, state)
    processes = None if gpus is None else _processes(host, gpus)
    yield from _totals(state, processes)
    yield from _environments(state, processes)
    yield from _users(state, processes)
    for one in processes or ():
        yield PROCESS_DEVICES, (str(one.pid), one.eid), len(one.memory)
        for index, used in one.memory.items():
            yield PROCESS_MEMORY, (str(one.pid), one.eid, str(index)), used


def _state(host: Host, directory: str) -> GenvState | None:
    """Return genv's state; as long as a file cannot be used, the last that could."""
    try:
        state = load_state(host, directory)
    except UnusableStateError as error:
        if "state" not in host.cache:
            raise Unavailable(str(error)) from None
        host.note("state", f"{error}; the environments are those of the last read")
        return cast("GenvState", host.cache["state"])
    if state is None:
        state = GenvState() if any(host.root.exists(f"{place}/genv") for place in PLACES) else None
    host.cache["state"] = state
    return state


def _gpus(host: Host) -> list[GpuState] | None:
    """Return the GPUs, or nothing, with a note, where no driver tells."""
    if host.nvml is None:
        return None
    try:
        return host.nvml.states(host.note)
    except Unavailable as error:
        host.note("GPUs", error)
        return None


def _devices(gpus: Sequence[GpuState]) -> Iterator[Sample]:
    for gpu in gpus:
        index = (str(gpu.gpu),)
        yield TEMPERATURE, index, gpu.temperature_celsius
        yield UTILIZATION, index, gpu.busy_percent
        yield MEMORY_USED, index, gpu.memory_used_bytes
        yield MEMORY_TOTAL, index, gpu.memory_total_bytes


def _bind(host: Host, state: GenvState) -> None:
    if not state.attachments:
        return
    offset = host.calls.time_zone()[1]
    environments = {one.eid: one for one in state.environments}
    for attachment in state.attachments:
        one = environments[attachment.eid]
        since = local_ms(attachment.time, offset) or local_ms(one.created, offset)
        facts = {"name": one.name} if one.name else {}
        host.bind(f"gpu:{attachment.gpu}", "environment", one.eid, from_ms=since, user=one.user, **facts)


def _processes(host: Host, gpus: Sequence[GpuState]) -> list[GenvProcess] | None:
    """Return all processes on GPUs; nothing where one GPU does not tell who is on it."""
    memory: defaultdict[int, dict[int, int | None]] = defaultdict(dict)
    for gpu in gpus:
        if gpu.processes is None:
            host.note(f"GPU {gpu.gpu}", "it does not tell its processes, so that none can be counted")
            return None
        for process in gpu.processes:
            held = memory[process.pid]
            known, more = held.get(gpu.gpu, 0), process.memory_bytes  # a process may be there twice: MIG
            held[gpu.gpu] = None if known is None or more is None else known + more
    return [GenvProcess(pid, _eid(host, pid), held) for pid, held in sorted(memory.items())]


def _eid(host: Host, pid: int) -> str:
    """Return the environment in which a process was started; nothing if there is none or we may not look."""
    try:
        variables = host.proc.read_once(f"{pid}/environ").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it has ended since
    except OSError as error:
        host.note(f"/proc/{pid}/environ", f"{error.strerror}: its environment is not known; run as root")
        return ""
    found = next((line[len(VARIABLE) :] for line in variables if line.startswith(VARIABLE)), "")
    return to_printable(found)


def _totals(state: GenvState, processes: Sequence[GenvProcess] | None) -> Iterator[Sample]:
    yield ENVIRONMENTS, (), len(state.environments)
    yield PROCESSES, (), None if processes is None else len(processes)
    yield ATTACHED, (), len({one.gpu for one in state.attachments})
    yield USERS, (), len({one.user for one in state.environments})


def _environments(state: GenvState, processes: Sequence[GenvProcess] | None) -> Iterator[Sample]:
    for one in state.environments:
        yield ENVIRONMENT_PROCESSES, (one.eid,), _count(processes, {one.eid})
        yield ENVIRONMENT_ATTACHED, (one.eid,), len(_indices(state, {one.eid}))


def _users(state: GenvState, processes: Sequence[GenvProcess] | None) -> Iterator[Sample]:
    eids: defaultdict[str, set[str]] = defaultdict(set)
    for one in state.environments:
        eids[one.user].add(one.eid)
    for user, own in eids.items():
        yield USER_ENVIRONMENTS, (user,), len(own)
        yield USER_PROCESSES, (user,), _count(processes, own)
        yield USER_ATTACHED, (user,), len(_indices(state, own))


def _count(processes: Sequence[GenvProcess] | None, eids: set[str]) -> int | None:
    return None if processes is None else sum(one.eid in eids for one in processes)


def _indices(state: GenvState, eids: set[str]) -> set[int]:
    return {one.gpu for one in state.attachments if one.eid in eids}


SOURCE = Source("genv", METRICS, read, slow=True, options=(DIRECTORY, ABSENT))
