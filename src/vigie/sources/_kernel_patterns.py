"""Patterns of kernel messages about hardware."""

from __future__ import annotations

import re
from collections.abc import Mapping
from re import Pattern
from typing import Callable, NamedTuple, Optional

from vigie.model import Phase
from vigie.model.node import normalize_pci_bus_id
from vigie.sources.core.xids import describe_xid, get_severity

MAX_LINE_CHARS = 1000  # characters of a line to match
ADDRESS = r"(?:[0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"

Groups = Mapping[str, Optional[str]]


class LogMatch(NamedTuple):
    kind: str
    what: str
    where: dict[str, str]
    severity: str = "warning"
    phase: Phase = Phase.ONCE


class LogPattern(NamedTuple):
    """Named groups give the location; `say` builds the sentence."""

    kind: str
    severity: str
    pattern: Pattern[str]
    say: Callable[[Groups], str]
    phase: Phase = Phase.ONCE


def _pattern(
    kind: str, severity: str, pattern: str, say: str | Callable[[Groups], str], phase: Phase = Phase.ONCE
) -> LogPattern:
    compiled = re.compile(pattern.replace("ADDRESS", ADDRESS), re.ASCII)
    return LogPattern(kind, severity, compiled, say if callable(say) else lambda _: say, phase)


def _describe_xid(found: Groups) -> str:
    return describe_xid(int(found["xid"] or 0))


def _describe_kill(found: Groups) -> str:
    whose = "its cgroup" if (found["cgroup"] or "").startswith("Memory") else "the machine"
    return f"OOM kill: process {found['pid']} ({found['comm']}), {whose} was out of memory"


CARD = r"amdgpu (?P<pci_bus_id>ADDRESS): (?:amdgpu: )?"
LINK = (
    r"^(?P<driver>\w{2,20}) (?P<pci_bus_id>ADDRESS):? (?P<interface>[\w.-]{1,20}): "
    r"(?:igb: [\w.-]{1,20} )?(?:NIC )?[Ll]ink (?:is )?"
)

PATTERNS = (
    _pattern(
        "xid",
        "",  # by XID number
        r"NVRM: Xid \((?:PCI:)?(?P<pci_bus_id>ADDRESS)"
        r"(?: GPU-I:0*(?P<mig_instance>\d{1,4}))?(?: GPU-CI:\d{1,4})?\): (?P<xid>\d{1,6})\b"
        r"(?:, pid='?(?P<pid>\d{1,10})'?)?(?:, name=(?P<comm>[^,<>]{1,64}))?",
        _describe_xid,
    ),
    _pattern(
        "sxid",
        "critical",
        r"SXid \(PCI:(?P<pci_bus_id>ADDRESS)\): (?P<sxid>\d{1,6}), Fatal",
        "NVSwitch reported a fatal error: reset or reboot all GPUs of this fabric",
    ),
    _pattern(
        "sxid",
        "warning",
        # Lines with severity and data follow.
        r"SXid \(PCI:(?P<pci_bus_id>ADDRESS)\): (?P<sxid>\d{1,6})\b(?!, (?:Severity|Data)\b)",
        "NVSwitch reported a non-fatal error",
    ),
    _pattern(
        "gpu_off_bus",
        "critical",
        r"NVRM: (?:The NVIDIA )?GPU (?:at (?:PCI:)?)?(?P<pci_bus_id>ADDRESS).{0,80}fallen off the bus",
        "GPU has fallen off the bus: check power and seating, then reboot",
    ),
    _pattern(
        "gpu_start_failed",
        "critical",
        r"NVRM: GPU (?P<pci_bus_id>ADDRESS): RmInitAdapter failed",
        "driver could not start the GPU: reboot. If it recurs, contact support",
    ),
    _pattern(
        "nvlink_error",
        "critical",
        r"NVRM: (?:GPU (?:at )?(?:PCI:)?(?P<pci_bus_id>ADDRESS):? ?)?.{0,120}NV[Ll]ink"
        r".{0,80}(?:[Ff]atal|[Ff]ail|[Ee]rror|[Dd]own)",
        "NVLink reported an error",
    ),
    _pattern("gpu_reset", "critical", CARD + r"GPU reset begin", "GPU reset started", Phase.BEGINS),
    _pattern("gpu_reset", "info", CARD + r"GPU reset(?:\(\d+\) succeeded| end with ret)", "", Phase.ENDS),
    _pattern("gpu_reset_failed", "critical", CARD + r"GPU reset.{0,40}failed", "GPU reset failed: reboot"),
    _pattern(
        "gpu_ring_timeout",
        "warning",
        r"(?:amdgpu (?P<pci_bus_id>ADDRESS): .{0,40}?|\[drm:amdgpu_job_timedout.{0,40}?)"
        r"ring (?P<ring>[\w.]{1,40}) timeout",
        "GPU command timeout",
    ),
    _pattern(
        "gpu_ras",
        "critical",
        CARD + r".{0,80}?uncorrectable hardware errors? (?:are )?detected in (?P<block>\w{1,32}) block",
        "GPU reported uncorrectable hardware errors",
    ),
    _pattern(
        "gpu_ras",
        "warning",
        CARD + r".{0,80}?correctable hardware errors? (?:are )?detected in (?P<block>\w{1,32}) block",
        "GPU reported corrected hardware errors",
    ),
    _pattern(
        "pcie_error",
        "warning",
        r"AER: (?:Multiple )?Correct(?:ed|able) error (?:message )?received(?: from|:) "
        r"(?P<pci_bus_id>ADDRESS)",
        "PCIe corrected an error",
    ),
    _pattern(
        "pcie_error",
        "critical",
        r"AER: (?:Multiple )?Uncorrect(?:ed|able)[^:]{0,40}received(?: from|:) (?P<pci_bus_id>ADDRESS)",
        "uncorrectable PCIe error: check the seating of the card",
    ),
    _pattern(
        "pcie_slow",
        "warning",
        r"(?P<pci_bus_id>ADDRESS): [\d.]+ Gb/s available PCIe bandwidth, limited by",
        "PCIe link is slower than the card supports",
    ),
    _pattern("link_down", "warning", LINK + r"[Dd]own", "network link down", Phase.BEGINS),
    _pattern("link_down", "info", LINK + r"[Uu]p", "", Phase.ENDS),
    _pattern(
        "oom_kill",
        "warning",
        r"(?P<cgroup>Memory cgroup o|O)ut of memory(?: \(oom_kill_allocating_task\))?: "
        r"Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<comm>.{0,64}?)\)(?= total-vm| score|,|$)"
        r"(?:.{0,300}UID:(?P<uid>\d{1,10}))?",
        _describe_kill,
    ),
    _pattern(
        "machine_check",
        "critical",
        r"\[Hardware Error\]: CPU (?P<cpu>\d{1,5}): Machine Check",
        "CPU reported a hardware error",
    ),
    _pattern(
        "machine_check",
        "warning",
        r"\[Hardware Error\]: Machine check events logged",
        "CPU or memory controller logged a hardware error",
    ),
    _pattern(
        "memory_error",
        "warning",
        r"EDAC MC(?P<controller>\d{1,4}): \d+ CE\b",
        "corrected memory error",
    ),
    _pattern(
        "memory_error",
        "critical",
        r"EDAC MC(?P<controller>\d{1,4}): \d+ UE\b",
        "uncorrectable memory error: replace the module",
    ),
)
# Fast check to skip the many unrelated lines.
HINTS = re.compile(r"NVRM|SXid|amdgpu|AER:|PCIe|[Ll]ink|[Oo]ut of memory|Hardware Error|EDAC")
DETAIL_GROUPS = ("driver", "cgroup")  # groups that are not a location


def match_line(line: str) -> LogMatch | None:
    line = line[:MAX_LINE_CHARS]
    if not HINTS.search(line):
        return None
    for rule in PATTERNS:
        match = rule.pattern.search(line)
        if match:
            return _build_match(rule, match.groupdict())
    return None


def _build_match(rule: LogPattern, groups: Groups) -> LogMatch:
    where = {name: text for name, text in groups.items() if text and name not in DETAIL_GROUPS}
    if "pci_bus_id" in where:
        where["pci_bus_id"] = normalize_pci_bus_id(where["pci_bus_id"])
    severity = rule.severity or get_severity(int(where["xid"]))
    return LogMatch(rule.kind, rule.say(groups), where, severity, rule.phase)
