"""What the kernel's log tells about hardware, from /dev/kmsg, the journal or a log file: events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from vigie.model import Phase, Sample, counter
from vigie.sources._kernel_patterns import LogMatch, match_line
from vigie.sources._kmsg import Kmsg, KmsgUnavailableError
from vigie.sources._log_files import LogFile
from vigie.sources._log_lines import LogLine, logged
from vigie.sources._log_open_states import OpenStates
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import number

if TYPE_CHECKING:
    from vigie.sources._journal import Journal

METRICS = (
    LINES := counter("vigie_kernel_log_lines_total", "Lines of the kernel's log that were read.", "log"),
    LOST := counter(
        "vigie_kernel_log_lost_total", "Lines that the kernel overwrote before they were read.", "log"
    ),
)

FILES = ("var/log/kern.log", "var/log/messages", "var/log/syslog")
MOST_OF_A_KIND = 50  # events of one kind a turn: a flood tells no more than that it is one


def read(host: Host) -> Iterator[Sample]:
    """Tell what is new in the log as events, and yield how much there was."""
    _end_those_before_the_boot(host)
    kmsg = _kmsg(host)
    if kmsg is not None:
        yield LINES, ("/dev/kmsg",), _told(host, kmsg.lines(_now(host), _boot(host)))
        _tell_lost(host, kmsg)
        kmsg.keep()
        yield LOST, ("/dev/kmsg",), kmsg.lost
        return
    journal = _journal(host)
    if journal is not None:
        try:
            yield LINES, ("journal",), _told(host, journal.lines())
            journal.keep()
            host.note("/dev/kmsg", f"{host.memory['why']}; the journal is read instead")
            return
        except Unavailable as error:
            host.memory["no journal"] = str(error)
    path, file, texts = _file(host)
    yield LINES, (path,), _told(host, _kernel_lines(host, texts))
    file.keep()


def _told(host: Host, lines: Iterable[LogLine]) -> int:
    """Tell what the lines are about, and return how many there were since the agent started."""
    kinds: Counter[str] = Counter()
    last = 0
    for line in lines:
        host.memory["lines"] = host.memory.get("lines", 0) + 1
        found = match_line(line.text)
        if found is not None:
            kinds[found.kind] += 1
            last = line.time_ms
            if kinds[found.kind] <= MOST_OF_A_KIND or found.phase is Phase.ENDS:
                _tell(host, line, found)
    for kind, times in kinds.items():
        if times > MOST_OF_A_KIND:
            host.happened("flood", f"{times - MOST_OF_A_KIND} more of {kind}", time_ms=last, of=kind)
    return int(host.memory.get("lines", 0))


def _tell(host: Host, line: LogLine, found: LogMatch) -> None:
    kind, what, where, severity, phase = found
    _states(host).note(kind, where, phase)
    host.happened(kind, what, phase=phase, time_ms=line.time_ms, severity=severity, **where)


def _end_those_before_the_boot(host: Host) -> None:
    """Tell that a reset or a lost link of an earlier boot is over, which no line says."""
    boot_id = host.proc.text("sys/kernel/random/boot_id") if "states" not in host.memory else None
    for kind, where in _states(host).ended_by(boot_id) if boot_id else ():
        host.happened(kind, "", phase=Phase.ENDS, time_ms=_boot(host), severity="info", **where)


def _states(host: Host) -> OpenStates:
    if "states" not in host.memory:
        host.memory["states"] = OpenStates(host.lasting)
    states: OpenStates = host.memory["states"]
    return states


def _tell_lost(host: Host, kmsg: Kmsg) -> None:
    lost = kmsg.lost - host.memory.get("lost", 0)
    if lost:
        host.memory["lost"] = kmsg.lost
        host.happened(
            "kernel_log_gap", f"{lost} lines of the kernel's log were overwritten before they were read"
        )


def _kmsg(host: Host) -> Kmsg | None:
    if "kmsg" not in host.memory:
        try:
            boot_id = host.proc.text("sys/kernel/random/boot_id") or ""
            kmsg = Kmsg(f"{host.root.top.rstrip('/')}/dev/kmsg", boot_id, host.lasting)
            host.closing.append(kmsg.close)
            host.memory["kmsg"] = kmsg
        except KmsgUnavailableError as error:
            host.memory["kmsg"], host.memory["why"] = None, str(error)
    found: Kmsg | None = host.memory["kmsg"]
    return found


def _journal(host: Host) -> Journal | None:
    if "journal" not in host.memory:
        from vigie.sources._journal import Journal  # most agents read /dev/kmsg, and are smaller without

        try:
            host.memory["journal"] = Journal(host.root.top, host.lasting)
        except Unavailable as error:
            host.memory["journal"], host.memory["no journal"] = None, str(error)
    found: Journal | None = host.memory["journal"]
    return found


def _file(host: Host) -> tuple[str, LogFile, list[str]]:
    """Return the first log file that can be read, and its new lines."""
    reasons = [host.memory["why"], host.memory["no journal"]]
    for path in FILES:
        file = LogFile(f"{host.root.top.rstrip('/')}/{path}", host.lasting)
        try:
            texts = file.lines()
        except OSError as error:
            reasons.append(f"/{path}: {error.strerror}")
            continue
        host.note("/dev/kmsg", f"{host.memory['why']}; /{path} is read instead")
        return f"/{path}", file, texts
    del host.memory["kmsg"], host.memory["journal"]  # look for them again the next time
    raise Unavailable("; ".join(reasons))


def _kernel_lines(host: Host, texts: list[str]) -> Iterator[LogLine]:
    now, (_, offset) = _now(host), host.calls.zone()
    for text in texts:
        line = logged(text, now, offset)
        if line is not None:
            yield line


def _now(host: Host) -> int:
    return round(host.calls.time() * 1000)


def _boot(host: Host) -> int:
    """Return when the machine booted, in Unix milliseconds."""
    uptime = number(host.proc.read("uptime").partition(" ")[0])
    if uptime is None:
        raise ValueError("/proc/uptime does not begin with a number")
    return _now(host) - round(uptime * 1000)


SOURCE = Source("kernel_log", METRICS, read)
