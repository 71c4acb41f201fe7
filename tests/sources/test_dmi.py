from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.dmi import SOURCE


def test_what_the_firmware_says_becomes_labels(machine: Machine, samples: Samples) -> None:
    host = machine(
        "-- sys/class/dmi/id/sys_vendor --\nMaker\n-- sys/class/dmi/id/product_name --\nBox \udcff\n"
        "-- sys/class/dmi/id/product_uuid ! EACCES --\n"
    )
    assert samples(SOURCE, host) == {'node_dmi_info{product_name="Box \ufffd",system_vendor="Maker"}': 1}
    assert list(host.notes.values()) == ["Permission denied"]


def test_firmware_that_says_nothing_is_unavailable(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable):
        samples(SOURCE, machine("-- sys/class/dmi/id/ --\n"))
