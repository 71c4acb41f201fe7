from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.rapl import SOURCE


def _zone(directory: str, name: str, energy: str) -> str:
    path = f"sys/class/powercap/{directory}"
    return f"-- {path}/name --\n{name}\n-- {path}/energy_uj --\n{energy}\n"


def test_packages_have_the_number_in_their_name_and_others_are_counted(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(
        _zone("intel-rapl:0", "package-0", "1500000")
        + _zone("intel-rapl:0:0", "dram", "2000000")
        + _zone("intel-rapl:1", "package-1", "3000000")
        + _zone("intel-rapl:1:0", "dram", "4000000")
        + "-- sys/class/powercap/intel-rapl/enabled --\n1\n"
    )
    top = f"{tmp_path}/sys/class/powercap/intel-rapl"
    assert samples(SOURCE, host) == {
        f'node_rapl_package_joules_total{{index="0",path="{top}:0"}}': 1.5,
        f'node_rapl_dram_joules_total{{index="0",path="{top}:0:0"}}': 2,
        f'node_rapl_package_joules_total{{index="1",path="{top}:1"}}': 3,
        f'node_rapl_dram_joules_total{{index="1",path="{top}:1:0"}}': 4,
    }


def test_energy_that_only_root_may_read_is_said_to_be_so(machine: Machine, samples: Samples) -> None:
    host = machine(
        "-- sys/class/powercap/z/name --\npackage-0\n-- sys/class/powercap/z/energy_uj ! EACCES --\n"
    )
    with pytest.raises(Unavailable, match="only by root"):
        samples(SOURCE, host)
    assert list(host.notes.values()) == ["Permission denied"]


def test_a_garbled_zone_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(
        _zone("a", "package-0", "N/A") + _zone("b", "weird zone!", "1") + _zone("c", "core", "1000000")
    )
    assert [series.split("{")[0] for series in samples(SOURCE, host)] == ["node_rapl_core_joules_total"]
    assert len(host.notes) == 1
