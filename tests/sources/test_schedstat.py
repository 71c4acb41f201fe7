from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.schedstat import SOURCE


def test_last_three_numbers_of_a_core_count(machine: Machine, samples: Samples) -> None:
    host = machine("""-- proc/schedstat --
version 15
timestamp 4302039485
cpu0 1 2 3 4 5 6 2500000000 1500000000 9
domain0 00000003 7 7 7
cpu11 1 2 3 4 5 6 7000000000 0 10
""")
    assert samples(SOURCE, host) == {
        'node_schedstat_running_seconds_total{cpu="0"}': 2.5,
        'node_schedstat_waiting_seconds_total{cpu="0"}': 1.5,
        'node_schedstat_timeslices_total{cpu="0"}': 9,
        'node_schedstat_running_seconds_total{cpu="11"}': 7,
        'node_schedstat_waiting_seconds_total{cpu="11"}': 0,
        'node_schedstat_timeslices_total{cpu="11"}': 10,
    }


def test_garbled_core_costs_only_itself(machine: Machine, samples: Samples) -> None:
    rows = ["cpu0 1 2 3 4 5 6 7", "cpu1 1 2 3 4 5 6 x 8 9", "cpu2", "cpu3 1 2 3 4 5 6 7 8 9"]
    host = machine("\n".join(["-- proc/schedstat --", "version 15", *rows]))
    assert all('cpu="3"' in series for series in samples(SOURCE, host))
    assert [where[-4:] for where in host.notes] == ["cpu0", "cpu1", "cpu2"]
