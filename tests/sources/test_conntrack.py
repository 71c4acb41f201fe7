from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.conntrack import SOURCE
from vigie.sources.core.source import Unavailable

FILL = """-- proc/sys/net/netfilter/nf_conntrack_count --
123
-- proc/sys/net/netfilter/nf_conntrack_max --
65536
"""
STAT = """-- proc/net/stat/nf_conntrack --
entries  clashres found new invalid ignore  insert_failed drop
0000007b  00000000 00000001 00000000 000000ff 00000000  00000002 ffffffff
0000007b  00000000 00000002 00000000 00000001 00000000  00000000 00000001
"""


def test_processors_are_added_up_by_the_names_of_the_columns(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(FILL + STAT)) == {
        "node_nf_conntrack_entries": 123,
        "node_nf_conntrack_entries_limit": 65536,
        "node_nf_conntrack_stat_found": 3,
        "node_nf_conntrack_stat_invalid": 256,
        "node_nf_conntrack_stat_ignore": 0,
        "node_nf_conntrack_stat_insert_failed": 2,
        "node_nf_conntrack_stat_drop": 2**32,
    }


def test_kernel_without_the_counters_still_tells_the_fill(machine: Machine, samples: Samples) -> None:
    host = machine(FILL)
    assert sorted(samples(SOURCE, host)) == ["node_nf_conntrack_entries", "node_nf_conntrack_entries_limit"]
    assert host.notes == {}


def test_total_that_would_leave_a_processor_out_is_not_told(machine: Machine, samples: Samples) -> None:
    host = machine(FILL + STAT + "0000007b  00000000\n")
    assert len(samples(SOURCE, host)) == 2
    assert "/proc/net/stat/nf_conntrack" in host.notes


@pytest.mark.parametrize("cell", ["000000fz", "ff", "000000ff1", ""])
def test_garbled_counts_do_not_cost_the_fill(machine: Machine, samples: Samples, cell: str) -> None:
    host = machine(FILL + STAT.replace("000000ff", cell))
    assert len(samples(SOURCE, host)) == 2
    assert len(host.notes) == 1


def test_garbled_fill_does_not_cost_the_counts(machine: Machine, samples: Samples) -> None:
    host = machine(FILL.replace("123", "N/A") + STAT)
    found = samples(SOURCE, host)
    assert "node_nf_conntrack_entries" not in found
    assert found["node_nf_conntrack_stat_found"] == 3
    assert list(host.notes) == ["/proc/sys/net/netfilter/nf_conntrack_count"]


def test_machine_that_tracks_nothing_says_so(machine: Machine) -> None:
    with pytest.raises(Unavailable, match="tracking"):
        list(SOURCE.read(machine("")))
