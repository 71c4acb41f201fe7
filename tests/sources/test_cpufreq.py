from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.cpufreq import SOURCE

CPUS = "sys/devices/system/cpu"


def _core(cpu: int, **files: object) -> str:
    path = f"{CPUS}/cpu{cpu}/cpufreq"
    return "".join(f"-- {path}/{name} --\n{text}\n" for name, text in files.items())


def test_kilohertz_become_hertz(machine: Machine, samples: Samples) -> None:
    host = machine(
        _core(0, cpuinfo_cur_freq=3000000, cpuinfo_min_freq=800000, cpuinfo_max_freq=3900000)
        + _core(1, scaling_cur_freq=2600123, scaling_min_freq=800000, scaling_max_freq=3600000)
    )
    assert samples(SOURCE, host) == {
        'node_cpu_frequency_hertz{cpu="0"}': 3000000000,
        'node_cpu_frequency_min_hertz{cpu="0"}': 800000000,
        'node_cpu_frequency_max_hertz{cpu="0"}': 3900000000,
        'node_cpu_scaling_frequency_hertz{cpu="1"}': 2600123000,
        'node_cpu_scaling_frequency_min_hertz{cpu="1"}': 800000000,
        'node_cpu_scaling_frequency_max_hertz{cpu="1"}': 3600000000,
    }


def test_governor_in_charge_is_told_from_the_others(machine: Machine, samples: Samples) -> None:
    files = {"scaling_governor": "powersave", "scaling_available_governors": "performance powersave "}
    assert samples(SOURCE, machine(_core(0, **files))) == {
        'node_cpu_scaling_governor{cpu="0",governor="performance"}': 0,
        'node_cpu_scaling_governor{cpu="0",governor="powersave"}': 1,
    }


def test_file_that_only_root_may_read_is_asked_for_once(machine: Machine, samples: Samples) -> None:
    cores = "".join(_core(cpu, cpuinfo_max_freq=2000000) for cpu in range(4))
    refused = "".join(f"-- {CPUS}/cpu{cpu}/cpufreq/cpuinfo_cur_freq ! EACCES --\n" for cpu in range(4))
    host = machine(cores + refused)
    assert len(samples(SOURCE, host)) == 4
    assert len(host.notes) == 1


def test_unknown_frequency_is_no_zero(machine: Machine, samples: Samples) -> None:
    path = f"{CPUS}/cpu0/cpufreq"
    asleep = f"-- {path}/cpuinfo_avg_freq ! EAGAIN --\n-- {path}/scaling_min_freq ! EBUSY --\n"
    host = machine(_core(0, scaling_cur_freq="<unknown>", cpuinfo_max_freq=1) + asleep)
    assert samples(SOURCE, host) == {'node_cpu_frequency_max_hertz{cpu="0"}': 1000}
    assert [where.endswith("scaling_min_freq") for where in host.notes] == [True]


def test_cores_of_fixed_frequency_say_so(machine: Machine, samples: Samples) -> None:
    host = machine(f"-- {CPUS}/cpu0/topology/core_id --\n0\n-- {CPUS}/cpufreq/boost --\n1\n")
    with pytest.raises(Unavailable, match="frequencies"):
        samples(SOURCE, host)
