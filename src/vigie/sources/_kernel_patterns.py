"""What a line of the kernel's log tells about hardware: one row for each kind of line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from re import Pattern
from typing import Callable, NamedTuple, Optional

from vigie.model import Phase
from vigie.model.node import normalize_pci_bus_id
from vigie.sources.core.xids import describe_xid, get_severity

LONGEST = 1000  # letters of a line that are looked at
ADDRESS = r"(?:[0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"

Groups = Mapping[str, Optional[str]]


class LogMatch(NamedTuple):
    kind: str
    what: str
    where: dict[str, str]
    severity: str = "warning"
    phase: Phase = Phase.ONCE


class LogPattern(NamedTuple):
    """A kind of line; its named groups tell where, and `say` makes the sentence if the line is none."""

    kind: str
    severity: str
    pattern: Pattern[str]
    say: Callable[[Groups], str]
    phase: Phase = Phase.ONCE


def _rule(
    kind: str, severity: str, pattern: str, say: str | Callable[[Groups], str], phase: Phase = Phase.ONCE
) -> LogPattern:
    compiled = re.compile(pattern.replace("ADDRESS", ADDRESS), re.ASCII)
    return LogPattern(kind, severity, compiled, say if callable(say) else lambda _: say, phase)


def _xid(found: Groups) -> str:
    return describe_xid(int(found["xid"] or 0))


def _killed(found: Groups) -> str:
    whose = "its cgroup" if (found["cgroup"] or "").startswith("Memory") else "the machine"
    return f"the kernel ended process {found['pid']} ({found['comm']}): {whose} was out of memory"


CARD = r"amdgpu (?P<pci_bus_id>ADDRESS): (?:amdgpu: )?"
LINK = (
    r"^(?P<driver>\w{2,20}) (?P<pci_bus_id>ADDRESS):? (?P<interface>[\w.-]{1,20}): "
    r"(?:igb: [\w.-]{1,20} )?(?:NIC )?[Ll]ink (?:is )?"
)

RULES = (
    _rule(
        "xid",
        "",  # by its number
        r"NVRM: Xid \((?:PCI:)?(?P<pci_bus_id>ADDRESS)"
        r"(?: GPU-I:0*(?P<mig_instance>\d{1,4}))?(?: GPU-CI:\d{1,4})?\): (?P<xid>\d{1,6})\b"
        r"(?:, pid='?(?P<pid>\d{1,10})'?)?(?:, name=(?P<comm>[^,<>]{1,64}))?",
        _xid,
    ),
    _rule(
        "sxid",
        "critical",
        r"SXid \(PCI:(?P<pci_bus_id>ADDRESS)\): (?P<sxid>\d{1,6}), Fatal",
        "an NVSwitch reports a fatal error: reset or reboot all GPUs of this fabric",
    ),
    _rule(
        "sxid",
        "warning",
        # Lines with its severity and data follow the one that tells of it.
        r"SXid \(PCI:(?P<pci_bus_id>ADDRESS)\): (?P<sxid>\d{1,6})\b(?!, (?:Severity|Data)\b)",
        "an NVSwitch reports an error that it survived",
    ),
    _rule(
        "gpu_off_bus",
        "critical",
        r"NVRM: (?:The NVIDIA )?GPU (?:at (?:PCI:)?)?(?P<pci_bus_id>ADDRESS).{0,80}fallen off the bus",
        "the GPU has fallen off the bus: check power and seating, then reboot",
    ),
    _rule(
        "gpu_start_failed",
        "critical",
        r"NVRM: GPU (?P<pci_bus_id>ADDRESS): RmInitAdapter failed",
        "the driver could not start the GPU: reboot; if it comes back call support",
    ),
    _rule(
        "nvlink_error",
        "critical",
        r"NVRM: (?:GPU (?:at )?(?:PCI:)?(?P<pci_bus_id>ADDRESS):? ?)?.{0,120}NV[Ll]ink"
        r".{0,80}(?:[Ff]atal|[Ff]ail|[Ee]rror|[Dd]own)",
        "NVLink reports an error",
    ),
    _rule("gpu_reset", "critical", CARD + r"GPU reset begin", "the GPU is being reset", Phase.BEGINS),
    _rule("gpu_reset", "info", CARD + r"GPU reset(?:\(\d+\) succeeded| end with ret)", "", Phase.ENDS),
    _rule("gpu_reset_failed", "critical", CARD + r"GPU reset.{0,40}failed", "the GPU's reset failed: reboot"),
    _rule(
        "gpu_ring_timeout",
        "warning",
        r"(?:amdgpu (?P<pci_bus_id>ADDRESS): .{0,40}?|\[drm:amdgpu_job_timedout.{0,40}?)"
        r"ring (?P<ring>[\w.]{1,40}) timeout",
        "the GPU did not end a command in time",
    ),
    _rule(
        "gpu_ras",
        "critical",
        CARD + r".{0,80}?uncorrectable hardware errors? (?:are )?detected in (?P<block>\w{1,32}) block",
        "the GPU's hardware found errors that could not be corrected",
    ),
    _rule(
        "gpu_ras",
        "warning",
        CARD + r".{0,80}?correctable hardware errors? (?:are )?detected in (?P<block>\w{1,32}) block",
        "the GPU's hardware corrected errors",
    ),
    _rule(
        "pcie_error",
        "warning",
        r"AER: (?:Multiple )?Correct(?:ed|able) error (?:message )?received(?: from|:) "
        r"(?P<pci_bus_id>ADDRESS)",
        "PCIe corrected an error",
    ),
    _rule(
        "pcie_error",
        "critical",
        r"AER: (?:Multiple )?Uncorrect(?:ed|able)[^:]{0,40}received(?: from|:) (?P<pci_bus_id>ADDRESS)",
        "PCIe could not correct an error: check the seating of the card",
    ),
    _rule(
        "pcie_slow",
        "warning",
        r"(?P<pci_bus_id>ADDRESS): [\d.]+ Gb/s available PCIe bandwidth, limited by",
        "the card's PCIe link is slower than the card could be",
    ),
    _rule("link_down", "warning", LINK + r"[Dd]own", "the network link is down", Phase.BEGINS),
    _rule("link_down", "info", LINK + r"[Uu]p", "", Phase.ENDS),
    _rule(
        "oom_kill",
        "warning",
        r"(?P<cgroup>Memory cgroup o|O)ut of memory(?: \(oom_kill_allocating_task\))?: "
        r"Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<comm>.{0,64}?)\)(?= total-vm| score|,|$)"
        r"(?:.{0,300}UID:(?P<uid>\d{1,10}))?",
        _killed,
    ),
    _rule(
        "machine_check",
        "critical",
        r"\[Hardware Error\]: CPU (?P<cpu>\d{1,5}): Machine Check",
        "a processor reports a hardware error",
    ),
    _rule(
        "machine_check",
        "warning",
        r"\[Hardware Error\]: Machine check events logged",
        "a processor or memory controller logged a hardware error",
    ),
    _rule(
        "memory_error",
        "warning",
        r"EDAC MC(?P<controller>\d{1,4}): \d+ CE\b",
        "memory corrected an error",
    ),
    _rule(
        "memory_error",
        "critical",
        r"EDAC MC(?P<controller>\d{1,4}): \d+ UE\b",
        "memory could not correct an error: replace the module",
    ),
)
# Cheap to look for in the many lines that none of these is about.
HINTS = re.compile(r"NVRM|SXid|amdgpu|AER:|PCIe|[Ll]ink|[Oo]ut of memory|Hardware Error|EDAC")
FACTS = ("driver", "cgroup")  # groups that tell no place


def match_line(line: str) -> LogMatch | None:
    """Return what the line tells, or None when it is about nothing of this."""
    line = line[:LONGEST]
    if not HINTS.search(line):
        return None
    for rule in RULES:
        match = rule.pattern.search(line)
        if match:
            return _finding(rule, match.groupdict())
    return None


def _finding(rule: LogPattern, groups: Groups) -> LogMatch:
    where = {name: text for name, text in groups.items() if text and name not in FACTS}
    if "pci_bus_id" in where:
        where["pci_bus_id"] = normalize_pci_bus_id(where["pci_bus_id"])
    severity = rule.severity or get_severity(int(where["xid"]))
    return LogMatch(rule.kind, rule.say(groups), where, severity, rule.phase)
