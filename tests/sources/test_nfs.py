from __future__ import annotations

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.nfs import SOURCE, V4

NAMES = V4.split()
ARCHIVE = f"""-- proc/net/rpc/nfs --
net 70 69 71 45
rpc 1218785755 374636 1218815394
proc3 22 {" ".join(str(300 + i) for i in range(22))}
proc4 69 {" ".join(str(400 + i) for i in range(69))}
"""


def request(proto: str, method: str) -> str:
    """Return the series of one procedure."""
    return f'node_nfs_requests_total{{proto="{proto}",method="{method}"}}'


def test_numbers_have_their_names(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE))
    assert found['node_nfs_packets_total{protocol="udp"}'] == 69
    assert found['node_nfs_packets_total{protocol="tcp"}'] == 71
    assert found["node_nfs_connections_total"] == 45
    assert found["node_nfs_rpcs_total"] == 1218785755
    assert found["node_nfs_rpc_retransmissions_total"] == 374636
    assert found["node_nfs_rpc_authentication_refreshes_total"] == 1218815394
    assert found[request("3", "Commit")] == 321
    assert found[request("4", "Null")] == 400


def test_procedures_of_version_4_are_numbered_as_the_kernel_does(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE))
    numbers = {
        "Getattr": 18,
        "SetACL": 33,
        "LayoutGet": 44,
        "GetDeviceInfo": 45,
        "DestroyClientID": 53,
        "Clone": 58,
    }
    assert {name: found[request("4", name)] - 400 for name in numbers} == numbers
    assert len(NAMES) == len(set(NAMES)) == 59


def test_version_that_the_kernel_lacks_is_absent_not_zero(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE.replace("proc4 69 400 ", "proc4 2 400 401\nignored ")))
    assert [series for series in found if 'proto="2"' in series] == []
    assert len([series for series in found if 'proto="4"' in series]) == 2


@pytest.mark.parametrize("garbled", ["net 70 69", "net 70 69 71 -45", "net", "net N/A 1 2 3"])
def test_garbled_line_costs_only_itself(machine: Machine, samples: Samples, garbled: str) -> None:
    host = machine(ARCHIVE.replace("net 70 69 71 45", garbled))
    found = samples(SOURCE, host)
    assert "node_nfs_connections_total" not in found
    assert found["node_nfs_rpcs_total"] == 1218785755
    assert list(host.notes) == ["/proc/net/rpc/nfs net"]


def test_line_of_procedures_cut_short_is_not_trusted(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE.replace(" 468\n", "\n"))
    assert [series for series in samples(SOURCE, host) if 'proto="4"' in series] == []
    assert len(host.notes) == 1
