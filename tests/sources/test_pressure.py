from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.pressure import SOURCE


def test_totals_become_seconds(machine: Machine, samples: Samples) -> None:
    host = machine("""-- proc/pressure/cpu --
some avg10=1.20 avg60=1.04 avg300=0.88 total=2500000
full avg10=0.00 avg60=0.00 avg300=0.00 total=7
-- proc/pressure/io --
some avg10=1.20 avg60=1.04 avg300=0.88 total=3000000
full avg10=1.20 avg60=1.04 avg300=0.88 total=1000000
-- proc/pressure/irq --
full avg10=1.20 avg60=1.04 avg300=0.88 total=500000
""")
    for _ in range(2):
        assert samples(SOURCE, host) == {
            "node_pressure_cpu_waiting_seconds_total": 2.5,
            "node_pressure_io_waiting_seconds_total": 3,
            "node_pressure_io_stalled_seconds_total": 1,
            "node_pressure_irq_stalled_seconds_total": 0.5,
        }


def test_kernel_without_the_files_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="CONFIG_PSI"):
        samples(SOURCE, machine(""))


def test_accounting_that_is_off_says_so(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/pressure/cpu --\n-- proc/pressure/cpu ! EOPNOTSUPP --\n")
    with pytest.raises(Unavailable, match="psi=0"):
        samples(SOURCE, host)


def test_garbled_line_and_unreadable_file_cost_only_themselves(machine: Machine, samples: Samples) -> None:
    host = machine("""-- proc/pressure/cpu --
some avg10=1.20 total=x
-- proc/pressure/io --
-- proc/pressure/io ! EIO --
-- proc/pressure/memory --
some total=1000000
full
""")
    assert samples(SOURCE, host) == {"node_pressure_memory_waiting_seconds_total": 1}
    assert len(host.notes) == 3
