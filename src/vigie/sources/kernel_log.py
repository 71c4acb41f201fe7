"""Events from kernel messages about hardware, from /dev/kmsg, the journal or a log file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from vigie.model import Phase, Sample, counter
from vigie.sources._kernel_patterns import LogMatch, match_line
from vigie.sources._kmsg import Kmsg, KmsgUnavailableError
from vigie.sources._log_files import LogFile
from vigie.sources._log_lines import LogLine, parse_logged
from vigie.sources._log_open_states import OpenStates
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import parse_number

if TYPE_CHECKING:
    from vigie.sources._journal import Journal

METRICS = (
    LINES := counter("vigie_kernel_log_lines_total", "Kernel messages read.", "log"),
    LOST := counter(
        "vigie_kernel_log_lost_total", "Kernel messages overwritten before they were read.", "log"
    ),
)

FILES = ("var/log/kern.log", "var/log/messages", "var/log/syslog")
MAX_PER_KIND = 50  # per kind and read: more add nothing


def read(host: Host) -> Iterator[Sample]:
    """Report new messages as events, and yield their number."""
    _end_before_boot(host)
    kmsg = _read_kmsg(host)
    if kmsg is not None:
        yield LINES, ("/dev/kmsg",), _report_lines(host, kmsg.lines(_get_now_ms(host), _read_boot_ms(host)))
        _report_lost(host, kmsg)
        kmsg.save()
        yield LOST, ("/dev/kmsg",), kmsg.lost
        return
    journal = _read_journal(host)
    if journal is not None:
        try:
            yield LINES, ("journal",), _report_lines(host, journal.lines())
            journal.save()
            host.note("/dev/kmsg", f"{host.cache['why']}; reading the journal instead")
            return
        except Unavailable as error:
            host.cache["no journal"] = str(error)
    path, file, texts = _read_file(host)
    yield LINES, (path,), _report_lines(host, _parse_kernel_lines(host, texts))
    file.save()


def _report_lines(host: Host, lines: Iterable[LogLine]) -> int:
    """Report events of the lines, and return the number of lines since the agent started."""
    kinds: Counter[str] = Counter()
    last = 0
    for line in lines:
        host.cache["lines"] = host.cache.get("lines", 0) + 1
        found = match_line(line.text)
        if found is not None:
            kinds[found.kind] += 1
            last = line.time_ms
            if kinds[found.kind] <= MAX_PER_KIND or found.phase is Phase.ENDS:
                _report(host, line, found)
    for kind, times in kinds.items():
        if times > MAX_PER_KIND:
            host.report_event("flood", f"{times - MAX_PER_KIND} more of {kind}", time_ms=last, of=kind)
    return int(host.cache.get("lines", 0))


def _report(host: Host, line: LogLine, found: LogMatch) -> None:
    kind, what, where, severity, phase = found
    _get_states(host).record(kind, where, phase)
    host.report_event(kind, what, phase=phase, time_ms=line.time_ms, severity=severity, **where)


def _end_before_boot(host: Host) -> None:
    """End states of an earlier boot, such as a reset or a lost link. No message ends them."""
    boot_id = host.proc.read_text("sys/kernel/random/boot_id") if "states" not in host.cache else None
    for kind, where in _get_states(host).ended_by(boot_id) if boot_id else ():
        host.report_event(kind, "", phase=Phase.ENDS, time_ms=_read_boot_ms(host), severity="info", **where)


def _get_states(host: Host) -> OpenStates:
    if "states" not in host.cache:
        host.cache["states"] = OpenStates(host.persistent)
    states: OpenStates = host.cache["states"]
    return states


def _report_lost(host: Host, kmsg: Kmsg) -> None:
    lost = kmsg.lost - host.cache.get("lost", 0)
    if lost:
        host.cache["lost"] = kmsg.lost
        host.report_event("kernel_log_gap", f"{lost} kernel messages were overwritten before they were read")


def _read_kmsg(host: Host) -> Kmsg | None:
    if "kmsg" not in host.cache:
        try:
            boot_id = host.proc.read_text("sys/kernel/random/boot_id") or ""
            kmsg = Kmsg(f"{host.root.top.rstrip('/')}/dev/kmsg", boot_id, host.persistent)
            host.on_close.append(kmsg.close)
            host.cache["kmsg"] = kmsg
        except KmsgUnavailableError as error:
            host.cache["kmsg"], host.cache["why"] = None, str(error)
    found: Kmsg | None = host.cache["kmsg"]
    return found


def _read_journal(host: Host) -> Journal | None:
    if "journal" not in host.cache:
        from vigie.sources._journal import (
            Journal,
        )  # imported late: most agents read /dev/kmsg and stay smaller

        try:
            host.cache["journal"] = Journal(host.root.top, host.persistent)
        except Unavailable as error:
            host.cache["journal"], host.cache["no journal"] = None, str(error)
    found: Journal | None = host.cache["journal"]
    return found


def _read_file(host: Host) -> tuple[str, LogFile, list[str]]:
    """Return the first readable log file and its new lines."""
    reasons = [host.cache["why"], host.cache["no journal"]]
    for path in FILES:
        file = LogFile(f"{host.root.top.rstrip('/')}/{path}", host.persistent)
        try:
            texts = file.lines()
        except OSError as error:
            reasons.append(f"/{path}: {error.strerror}")
            continue
        host.note("/dev/kmsg", f"{host.cache['why']}; reading /{path} instead")
        return f"/{path}", file, texts
    del host.cache["kmsg"], host.cache["journal"]  # search again at the next read
    raise Unavailable("; ".join(reasons))


def _parse_kernel_lines(host: Host, texts: list[str]) -> Iterator[LogLine]:
    now, (_, offset) = _get_now_ms(host), host.calls.time_zone()
    for text in texts:
        line = parse_logged(text, now, offset)
        if line is not None:
            yield line


def _get_now_ms(host: Host) -> int:
    return round(host.calls.time() * 1000)


def _read_boot_ms(host: Host) -> int:
    """Return the boot time in Unix milliseconds."""
    uptime = parse_number(host.proc.read("uptime").partition(" ")[0])
    if uptime is None:
        raise ValueError("/proc/uptime has no number")
    return _get_now_ms(host) - round(uptime * 1000)


SOURCE = Source("kernel_log", METRICS, read)
