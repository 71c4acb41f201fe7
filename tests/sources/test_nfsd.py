from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.nfsd import SOURCE

ARCHIVE = f"""-- proc/net/rpc/nfsd --
rc 1 2 3
fh 4 0 0 0 0
io 5000000000 6
th 8 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000
ra 32 0 0 0 0 0 0 0 0 0 0 9
net 10 11 12 13
rpc 14 15 16 17 18
proc3 22 {" ".join(str(300 + i) for i in range(22))}
proc4 2 90 91
proc4ops 76 {" ".join(str(400 + i) for i in range(76))}
"""


def test_numbers_have_their_names(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE))
    assert {series: value for series, value in found.items() if "requests" not in series} == {
        "node_nfsd_reply_cache_hits_total": 1,
        "node_nfsd_reply_cache_misses_total": 2,
        "node_nfsd_reply_cache_nocache_total": 3,
        "node_nfsd_file_handles_stale_total": 4,
        "node_nfsd_disk_bytes_read_total": 5_000_000_000,
        "node_nfsd_disk_bytes_written_total": 6,
        "node_nfsd_server_threads": 8,
        "node_nfsd_read_ahead_cache_size_blocks": 32,
        "node_nfsd_read_ahead_cache_not_found_total": 9,
        'node_nfsd_packets_total{proto="udp"}': 11,
        'node_nfsd_packets_total{proto="tcp"}': 12,
        "node_nfsd_connections_total": 13,
        "node_nfsd_server_rpcs_total": 14,
        'node_nfsd_rpc_errors_total{error="fmt"}': 16,
        'node_nfsd_rpc_errors_total{error="auth"}': 17,
        'node_nfsd_rpc_errors_total{error="cInt"}': 18,
    }


def test_operations_go_by_the_numbers_of_the_protocol(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE))
    numbers = {
        "Access": 3,
        "PutFH": 22,
        "Read": 25,
        "SetAttr": 34,
        "Verify": 37,
        "Write": 38,
        "RelLockOwner": 39,
    }
    for name, number in numbers.items():
        assert found[f'node_nfsd_requests_total{{proto="4",method="{name}"}}'] == 400 + number
    assert found['node_nfsd_requests_total{proto="3",method="GetAttr"}'] == 301
    assert 'node_nfsd_requests_total{proto="3",method="Null"}' not in found


def test_newer_kernels_count_recalls_of_attributes(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ARCHIVE + "wdeleg_getattr 16\n"))
    assert found['node_nfsd_requests_total{proto="4",method="WdelegGetattr"}'] == 16


def test_line_that_the_kernel_dropped_is_absent_not_zero(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE.replace("ra 32", "new 32"))
    assert not [series for series in samples(SOURCE, host) if "read_ahead" in series]
    assert host.notes == {}
