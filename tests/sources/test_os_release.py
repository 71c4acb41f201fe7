from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.os_release import SOURCE


def test_quotes_are_taken_off_and_the_version_is_a_number(machine: Machine, samples: Samples) -> None:
    host = machine("""-- root/etc/os-release --
# a comment
NAME='Big "Iron" OS'
ID=iron
VERSION_ID="24.04.2"
PRETTY_NAME="Big Iron \\"24\\""
SUPPORT_END=2029-05-31
""")
    found = samples(SOURCE, host)
    (info,) = (series for series in found if series.startswith("node_os_info"))
    assert r'name="Big \"Iron\" OS"' in info
    assert r'pretty_name="Big Iron \"24\""' in info
    assert 'version_id="24.04.2"' in info
    (version,) = (series for series in found if series.startswith("node_os_version"))
    assert found[version] == 24.04
    assert found["node_os_support_end_timestamp_seconds"] == 1874880000


def test_vendor_file_stands_in_for_a_missing_or_dangling_one(machine: Machine, samples: Samples) -> None:
    host = machine("-- root/etc/os-release -> ../nowhere --\n-- root/usr/lib/os-release --\nID=vendor\n")
    assert any('id="vendor"' in series for series in samples(SOURCE, host))


def test_garbled_line_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine('-- root/etc/os-release --\nNAME="open\n=x\nVERSION_ID=rolling\nID=ok\nSUPPORT_END=soon\n')
    (info,) = samples(SOURCE, host)
    assert 'id="ok"' in info
    assert list(host.notes) == ["os-release NAME", "os-release SUPPORT_END"]


def test_machine_without_the_file_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="os-release"):
        samples(SOURCE, machine(""))
