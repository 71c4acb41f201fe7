from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.sockstat import SOURCE

ARCHIVE = """-- proc/net/sockstat --
sockets: used 290
TCP: inuse 5 orphan 0 tw 4 alloc 17 mem 3
UDP: inuse 2 mem 1
FRAG: inuse 0 memory 64
"""


def test_pages_are_told_in_bytes_too(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE + '-- calls.json --\n{"page_size": 65536}\n'))
    assert found["node_sockstat_sockets_used"] == 290
    assert found["node_sockstat_TCP_mem"] == 3
    assert found["node_sockstat_TCP_mem_bytes"] == 3 * 65536
    assert found["node_sockstat_UDP_mem_bytes"] == 65536
    assert found["node_sockstat_FRAG_memory"] == 64
    assert len(found) == 12


def test_second_file_adds_the_sockets_over_ipv6(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE + "-- proc/net/sockstat6 --\nTCP6: inuse 17\nNEW6: inuse 1\n"))
    assert found["node_sockstat_TCP6_inuse"] == 17
    assert len(found) == 13


def test_garbled_figure_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE.replace("mem 3", "mem N/A").replace("used 290", "used"))
    found = samples(SOURCE, host)
    assert "node_sockstat_TCP_mem_bytes" not in found
    assert found["node_sockstat_TCP_alloc"] == 17
    assert list(host.notes) == ["/proc/net/sockstat TCP mem"]
