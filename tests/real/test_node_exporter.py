"""Beside prometheus-node-exporter 1.5.0: the same series, kinds and values."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.expositions import Exposition, Series, parse, spell
from tests.machines import unpacked
from tests.real.conftest import Start, get

# Series of its default collectors, with their value, that we do not give or that differ, and why.
EXCEPTIONS = {
    "node_exporter_build_info*": "it describes node exporter; ours is vigie_agent_build_info",
    "node_scrape_collector_*": "the same names, of our own sources",
    "node_network_speed_bytes* -125000.0": "a speed of -1 means unknown, which is absent",
}

# Series that both give, but that reading itself moves.
MOVED_BY_READING = {
    "node_filefd_allocated": "node exporter holds dozens of files open while it counts them",
    "node_procs_running": "node exporter reads with several threads, which are running then",
    "node_sockstat_sockets_used": "node exporter asks the kernel over sockets of its own as it counts them",
}

# What node exporter asks the running kernel for, whatever machine was recorded.
ASKED_OF_THE_KERNEL = (
    *("node_time", "node_uname", "node_filesystem", "node_tcp_connection", "node_selinux"),
    "node_textfile",
)

# Where 1.5.0 is wrong: it counts NFSv4's operations past two that it forgets, and says 0 for the
# connections that UDP does not have.
WRONG = [
    *(
        f'node_nfsd_requests_total{{method="{method}",proto="4"}}'
        for method in ("RelLockOwner", "Verify", "Write")
    ),
    "node_mountstats_nfs_transport_connect_total*udp*",
    "node_mountstats_nfs_transport_idle_time_seconds*udp*",
]

# Labels that later versions of it have, and so have we.
NEWER = {
    "node_disk_info": "rotational",
    "node_network_info": "adminstate",
    "node_nvme_info": "cntlid",
    "node_mountstats_nfs_transport_*": "transport",
}

# Its collectors that are off by default and read files, and those that ask the kernel.
OFF_FILES = ("buddyinfo", "cgroups", "interrupts", "ksmd", "mountstats", "slabinfo", "zoneinfo")
OFF_CALLS = ("ethtool", "qdisc")


def _theirs(said: Exposition) -> dict[Series, float]:
    return {
        series: value
        for series, value in said.values.items()
        if series[0].startswith("node_")
        and not any(fnmatch(f"{spell(series)} {value}", each) for each in EXCEPTIONS)
    }


def _ours(text: str) -> Exposition:
    """Return what we said, without the labels that 1.5.0 does not have."""
    said = parse(text)
    values = {}
    for (name, labels), value in said.values.items():
        newer = next((label for each, label in NEWER.items() if fnmatch(name, each)), None)
        values[name, frozenset(pair for pair in labels if pair[0] != newer)] = value
    return Exposition(values, said.kinds)


def _differences(theirs: dict[Series, float], before: Exposition, after: Exposition) -> list[str]:
    """Return their series whose value lies outside what we said just before and just after."""
    odd = []
    for series, value in theirs.items():
        if series in before.values:
            low, high = sorted((before.values[series], after.values[series]))
            slack = 1e-9 * max(abs(low), abs(high))
            if not low - slack <= value <= high + slack:
                odd.append(f"{spell(series)} theirs {value}, ours {low} to {high}")
    return odd


def test_at_most_ten_exceptions() -> None:
    assert len(EXCEPTIONS) + len(MOVED_BY_READING) <= 10


def test_every_series_of_its_default_collectors_is_ours_too(exporter: Start, agent: Start) -> None:
    peer, ours = exporter(), agent("--cadence=60")
    theirs = parse(get(f"{peer}/metrics"))
    said = _ours(get(f"{ours}/metrics?fresh"))
    missing = [spell(series) for series in _theirs(theirs) if series not in said.values]
    assert missing == []
    kinds = {n: (k, said.kinds[n]) for n, k in theirs.kinds.items() if n in said.kinds and said.kinds[n] != k}
    assert kinds == {}


def test_values_agree(exporter: Start, agent: Start) -> None:
    _assert_agree(exporter(), agent("--cadence=60"))


def test_what_is_off_by_default_agrees_when_it_is_on(exporter: Start, agent: Start) -> None:
    off = [name for name in (*OFF_FILES, *OFF_CALLS) if name != "mountstats"]  # nothing is mounted by NFS
    peer = exporter("--collector.disable-defaults", *(f"--collector.{name}" for name in off))
    ours = agent(f"--sources={','.join(off)}", "--cadence=60")
    theirs, said = parse(get(f"{peer}/metrics")), _ours(get(f"{ours}/metrics?fresh"))
    assert [spell(series) for series in _theirs(theirs) if series not in said.values] == []
    assert {n: k for n, k in theirs.kinds.items() if n in said.kinds and said.kinds[n] != k} == {}
    found = {name for name in off if any(series[0].startswith(f"node_{name}") for series in theirs.values)}
    assert found >= {"buddyinfo", "interrupts", "qdisc", "zoneinfo"}
    _assert_agree(peer, ours)


def _assert_agree(peer: str, ours: str) -> None:
    tries: list[set[str]] = []
    for _ in range(5):
        before = _ours(get(f"{ours}/metrics?fresh"))
        theirs = _theirs(parse(get(f"{peer}/metrics")))
        after = _ours(get(f"{ours}/metrics?fresh"))
        still = {series: value for series, value in theirs.items() if series[0] not in MOVED_BY_READING}
        tries.append({line.split(" ")[0] for line in _differences(still, before, after)})
    # A gauge may jump up and back between our two reads; it does not do so five times in a row.
    always = set.intersection(*tries)
    assert always == set()


@pytest.mark.parametrize("machine", ["epyc-128", "fileserver", "frontend"])
def test_recorded_machine_reads_the_same(machine: str, exporter: Start, agent: Start, tmp_path: Path) -> None:
    top = unpacked(machine, tmp_path)
    for line in (top / "errors").read_text().splitlines() if (top / "errors").exists() else []:
        (top / line.rpartition(" ")[0]).unlink()  # only our own replay can make a file answer an error
    peer = exporter(
        f"--path.procfs={top}/proc",
        f"--path.sysfs={top}/sys",
        f"--path.rootfs={top}/root",
        f"--path.udev.data={top}/root/run/udev/data",
        "--collector.meminfo_numa",
        "--collector.processes",
        "--collector.tcpstat",
        # It has to find out what its own process is called, which not all machines have recorded.
        *(f"--collector.{name}" for name in OFF_FILES if name != "mountstats" or machine == "frontend"),
        "--no-collector.netdev",  # it asks the kernel by netlink, not the recorded files
    )
    ours = agent(
        f"--procfs={top}/proc",
        f"--sysfs={top}/sys",
        f"--rootfs={top}/root",
        f"--with-sources={','.join(OFF_FILES)}",
        "--cadence=60",
    )
    theirs = {
        series: value
        for series, value in _theirs(parse(get(f"{peer}/metrics"))).items()
        if not series[0].startswith(ASKED_OF_THE_KERNEL) and not any(fnmatch(spell(series), e) for e in WRONG)
    }
    said = _ours(get(f"{ours}/metrics?fresh"))
    assert len(theirs) > 300
    assert [spell(series) for series in theirs if series not in said.values] == []
    assert _differences(theirs, said, said) == []
