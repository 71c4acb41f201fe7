from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.selinux import SOURCE

ON = "-- sys/fs/selinux/enforce --\n1\n-- proc/self/attr/current --\nsystem_u:system_r:init_t:s0\n"


def test_machine_without_selinux_has_it_off(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine("")) == {"node_selinux_enabled": 0}


def test_kernel_without_a_policy_counts_as_off(machine: Machine, samples: Samples) -> None:
    host = machine("-- sys/fs/selinux/enforce --\n0\n-- proc/self/attr/current --\nkernel\n")
    assert samples(SOURCE, host) == {"node_selinux_enabled": 0}


@pytest.mark.parametrize(("word", "mode"), [("enforcing", 1), ("permissive", 0), ("disabled", -1)])
def test_modes_now_and_at_boot_are_told(machine: Machine, samples: Samples, word: str, mode: int) -> None:
    host = machine(ON + f"-- root/etc/selinux/config --\n# SELINUX=x\nSELINUXTYPE=targeted\nSELINUX={word}\n")
    assert samples(SOURCE, host) == {
        "node_selinux_enabled": 1,
        "node_selinux_current_mode": 1,
        "node_selinux_config_mode": mode,
    }


def test_mode_that_cannot_be_known_is_left_out(machine: Machine, samples: Samples) -> None:
    host = machine(ON.replace("1", "maybe"))
    assert samples(SOURCE, host) == {"node_selinux_enabled": 1}


def test_refused_file_does_not_say_off(machine: Machine, samples: Samples) -> None:
    with pytest.raises(PermissionError):
        samples(SOURCE, machine("-- sys/fs/selinux/enforce ! EACCES --\n"))
