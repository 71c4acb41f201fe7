"""What a thread waits for, as the kernel has it: costs nothing, works for any language."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 4096
# The system calls in which programs of ours hang, by number; x86-64 and arm64 differ.
_CALLS = {
    "x86_64": {0: "read", 7: "poll", 23: "select", 35: "nanosleep", 61: "wait4", 202: "futex",
               230: "nanosleep", 232: "epoll_wait", 257: "openat", 270: "pselect", 271: "ppoll",
               281: "epoll_wait"},
    "aarch64": {22: "epoll_wait", 56: "openat", 63: "read", 72: "pselect", 73: "ppoll", 98: "futex",
                101: "nanosleep", 115: "nanosleep", 260: "wait4"},
}  # fmt: skip


def read_wait_state(pid: int, thread_id: int, machine: str, proc: str = "/proc") -> tuple[str, str]:
    """Return the state letter of a thread and what it sleeps in; empty where the kernel does not tell."""
    task = Path(proc) / str(pid) / "task" / str(thread_id)
    state = ""
    for line in _read(task / "status").splitlines():
        if line.startswith("State:"):
            state = line.split()[1][:1]
    if state == "R":
        return state, ""
    function = _read(task / "wchan").strip().strip("0")
    call = _read(task / "syscall").split()
    number = int(call[0]) if call and call[0].isdecimal() else -1
    name = _CALLS.get(machine, {}).get(number, "")
    return state, " in ".join(part for part in (name, function) if part)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode(errors="replace")
    except OSError:
        return ""
