"""Lines of the kernel's log, and what they tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vigie.sources._kernel_patterns import MAX_LINE_CHARS, PATTERNS, match_line

SAMPLES = [
    [part.strip() for part in line.split("|", 4)]
    for line in Path(__file__).with_name("kernel_log_samples.txt").read_text().splitlines()
    if not line.startswith("#")
]
FRAGMENTS = [
    *("NVRM: ", "Xid (PCI:", "0000:41:00", "): ", "79", "SXid ", "amdgpu ", "GPU reset begin", "AER: "),
    *("Corrected error received: ", "Out of memory: Killed process ", "(", ")", "EDAC MC0: 1 CE", "NVLink"),
    *(" error", "pid=", "Link down", "\x00", "é", "9" * 30, "[Hardware Error]: "),
]


def _where(text: str) -> dict[str, str]:
    """Return name=value pairs; a value may hold blanks."""
    pairs: dict[str, str] = {}
    last = ""
    for word in text.split():
        name, found, value = word.partition("=")
        if found:
            last, pairs[name] = name, value
        else:
            pairs[last] += f" {word}"
    return pairs


@pytest.mark.parametrize(("kind", "severity", "phase", "where", "line"), SAMPLES, ids=[s[4] for s in SAMPLES])
def test_a_line_tells_its_kind_and_where(kind: str, severity: str, phase: str, where: str, line: str) -> None:
    found = match_line(line)
    assert found is not None
    assert (found.kind, found.severity, found.phase.value) == (kind, severity, phase)
    assert found.where == _where(where)
    assert found.what or phase == "ends"


def test_every_rule_has_a_sample() -> None:
    seen = {next(rule for rule in PATTERNS if rule.pattern.search(sample[4])) for sample in SAMPLES}
    assert [rule.kind for rule in PATTERNS if rule not in seen] == []


@pytest.mark.parametrize(
    "line",
    [
        "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15",
        "amdgpu 0000:05:00.0: amdgpu: Fetched VBIOS from ROM BAR",
        "NVRM: Xid (PCI:0000:41:00): GPU has no number",
        "nvidia-nvswitch2: SXid (PCI:0000:c3:00.0): 22013, Severity 1 Engine instance 42",
        "nvidia-nvswitch2: SXid (PCI:0000:c3:00.0): 22013, Data {0x0000003c, 0x0000003c, 0x00000000}",
        "br-1f2e: link becomes ready",
        "",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert match_line(line) is None


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)))
def test_whatever_stands_in_the_log_gives_a_finding_or_none(line: str) -> None:
    found = match_line(line)
    assert found is None or all(len(text) <= MAX_LINE_CHARS for text in found.where.values())


def test_a_long_line_full_of_beginnings_takes_no_time_to_speak_of() -> None:
    assert match_line("NVRM: NVLink " * 100_000) is None
