from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.filefd import SOURCE


def test_first_and_third_number_count(machine: Machine, samples: Samples) -> None:
    host = machine("-- proc/sys/fs/file-nr --\n12032\t0\t9223372036854775807\n")
    assert samples(SOURCE, host) == {
        "node_filefd_allocated": 12032,
        "node_filefd_maximum": 9223372036854775807,
    }


@pytest.mark.parametrize("text", ["12032 0", "12032 0 unlimited"])
def test_missing_or_garbled_limit_costs_only_itself(machine: Machine, samples: Samples, text: str) -> None:
    host = machine(f"-- proc/sys/fs/file-nr --\n{text}\n")
    assert samples(SOURCE, host) == {"node_filefd_allocated": 12032}
    assert list(host.notes) == ["/proc/sys/fs/file-nr"]
