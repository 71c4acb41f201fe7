"""Whatever a file holds, a source gives samples or a reason, and raises nothing of its own."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.machines import collected, unpacked
from vigie.agent.source_reader import Outcome
from vigie.sources.core.registry import find_sources
from vigie.sources.core.source import Source

FAIR = (Outcome.OK, Outcome.UNAVAILABLE)
JUNK = [
    b"",
    b"\n",
    b"N/A\n",
    b"-1\n",
    b"18446744073709551616\n",
    b"\xff\xfe\x00\x01",
    b": : :\n",
    b"nan inf\n",
]


def _files(top: Path) -> list[Path]:
    return [path for path in top.rglob("*") if path.is_file() and path.name not in ("calls.json", "errors")]


def _spoil(data: bytes, choice: random.Random) -> bytes:
    """Return the file as a bad day would leave it."""
    kind = choice.randrange(5)
    if kind == 0:
        return data[: choice.randrange(len(data) + 1)]
    if kind == 1:
        return choice.choice(JUNK)
    if kind == 2:
        place = choice.randrange(len(data) + 1)
        return data[:place] + choice.choice(JUNK) + data[place:]
    if kind == 3:
        return b"\n".join(line for line in data.split(b"\n") if choice.random() < 0.7)
    return data.replace(b" ", choice.choice([b"", b"\t\t", b" x ", b":"]), choice.randrange(1, 50))


@pytest.mark.parametrize(
    ("machine", "seed"),
    [
        *(("epyc-128", 1), ("epyc-128", 2), ("mi300x", 1), ("mi300x", 2), ("radeon", 1)),
        *(("fileserver", seed) for seed in range(8)),
        *(("frontend", seed) for seed in range(6)),
        *(("workload", seed) for seed in range(6)),
    ],
)
def test_spoiled_files_never_make_a_source_fail(machine: str, seed: int, tmp_path: Path) -> None:
    unpacked(machine, tmp_path)
    choice = random.Random(seed)
    for path in _files(tmp_path):
        if choice.random() < 0.5:
            path.write_bytes(_spoil(path.read_bytes(), choice))
    _all_fair(find_sources(), tmp_path)


def _all_fair(sources: list[Source], top: Path) -> None:
    readings = collected(top, sources).readers
    assert {r.source.name: r.reason for r in readings if r.outcome not in FAIR} == {}
    for reading in readings:
        assert all(isinstance(number, (int, float)) for number in reading.values.numbers)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(
        [
            "stat",
            "meminfo",
            "diskstats",
            "net/dev",
            "net/snmp",
            "mdstat",
            "1/mountinfo",
            "net/netstat",
            "net/sockstat",
            "net/softnet_stat",
            "pressure/io",
            "net/rpc/nfsd",
            "net/rpc/nfs",
            "vmstat",
            "interrupts",
            "loadavg",
            "net/arp",
            "net/udp",
            "schedstat",
            "zoneinfo",
            "slabinfo",
            "buddyinfo",
            "softirqs",
            "cgroups",
            "1/mountstats",
            "net/ip_vs",
            "net/ip_vs_stats",
        ]
    ),
    text=st.one_of(
        st.binary(max_size=200), st.text(alphabet="0123456789 :-\n\tabc/()x.", max_size=300).map(str.encode)
    ),
)
def test_any_text_in_a_proc_file_gives_samples_or_a_reason(name: str, text: bytes, tmp_path: Path) -> None:
    top = tmp_path / "machine"
    path = top / "proc" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    _all_fair(SOURCES, top)
    path.unlink()


SOURCES = [source for source in find_sources() if source.name not in ("textfile",)]
