from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.tcpstat import MAX_SOCKETS, SOURCE

HEADER = "-- proc/net/tcp --\n  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"


def line(state: str, queues: str = "00000000:00000000") -> str:
    """Return the line of one socket."""
    return f"   0: 0100007F:0016 00000000:0000 {state} {queues} 00:00000000 00000000     0        0 1\n"


def state(name: str) -> str:
    """Return the series of one state."""
    return f'node_tcp_connection_states{{state="{name}"}}'


def test_sockets_of_both_families_are_counted(machine: Machine, samples: Samples) -> None:
    archive = HEADER + line("01", "00000010:00000003") + line("06") + line("0A")
    found = samples(SOURCE, machine(archive + archive.replace("net/tcp", "net/tcp6")))
    assert {series: value for series, value in found.items() if value} == {
        state("established"): 2,
        state("time_wait"): 2,
        state("listen"): 2,
        state("tx_queued_bytes"): 32,
        state("rx_queued_bytes"): 6,
    }


def test_state_that_nobody_is_in_counts_zero(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(HEADER))
    assert len(found) == 13
    assert set(found.values()) == {0}


def test_connections_waiting_to_be_accepted_are_not_bytes(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(HEADER + line("0A", "00000000:00000005")))
    assert found[state("rx_queued_bytes")] == 0


def test_too_many_sockets_are_not_listed(machine: Machine) -> None:
    archive = f"-- proc/net/sockstat --\nTCP: inuse 5 orphan 0 tw 10 alloc {MAX_SOCKETS - 9} mem 3\n"
    with pytest.raises(Unavailable, match=str(MAX_SOCKETS + 1)):
        list(SOURCE.read(machine(HEADER + archive)))


@pytest.mark.parametrize(
    "garbled", [line("FF"), line("01", "nothing"), line("01", "0:Z"), "   0: 0100007F\n"]
)
def test_garbled_line_costs_only_itself(machine: Machine, samples: Samples, garbled: str) -> None:
    host = machine(HEADER + garbled + line("01"))
    assert samples(SOURCE, host)[state("established")] == 1
    assert "/proc/net/tcp" in host.notes
