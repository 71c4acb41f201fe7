"""NFS client statistics, from /proc/net/rpc/nfs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter
from vigie.sources._nfs import V2, V3, parse_lines, yield_figures, yield_requests
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    PACKETS := counter("node_nfs_packets_total", "Packets exchanged with NFS servers.", "protocol"),
    CONNECTIONS := counter("node_nfs_connections_total", "TCP connections to NFS servers."),
    RPCS := counter("node_nfs_rpcs_total", "RPC calls to NFS servers."),
    RETRANSMISSIONS := counter("node_nfs_rpc_retransmissions_total", "RPC retransmissions."),
    REFRESHES := counter("node_nfs_rpc_authentication_refreshes_total", "Credential refreshes of RPC calls."),
    REQUESTS := counter(
        "node_nfs_requests_total", "RPC calls by NFS version and procedure.", "proto", "method"
    ),
)

FIGURES = (
    ("net", 1, PACKETS, ("udp",)),
    ("net", 2, PACKETS, ("tcp",)),
    ("net", 3, CONNECTIONS, ()),
    ("rpc", 0, RPCS, ()),
    ("rpc", 1, RETRANSMISSIONS, ()),
    ("rpc", 2, REFRESHES, ()),
)
# The client's own numbering of version 4 procedures, which is not the protocol's.
V4 = (
    "Null Read Write Commit Open OpenConfirm OpenNoattr OpenDowngrade Close Setattr FsInfo Renew "
    "SetClientID SetClientIDConfirm Lock Lockt Locku Access Getattr Lookup LookupRoot Remove Rename "
    "Link Symlink Create Pathconf StatFs ReadLink ReadDir ServerCaps DelegReturn GetACL SetACL "
    "FsLocations ReleaseLockowner Secinfo FsidPresent ExchangeID CreateSession DestroySession Sequence "
    "GetLeaseTime ReclaimComplete LayoutGet GetDeviceInfo LayoutCommit LayoutReturn SecinfoNoName "
    "TestStateID FreeStateID GetDeviceList BindConnToSession DestroyClientID Seek Allocate DeAllocate "
    "LayoutStats Clone"
)
PROTOCOLS = (("proc2", "2", V2.split()), ("proc3", "3", V3.split()), ("proc4", "4", V4.split()))
WIDTHS = {"net": 4, "rpc": 3, "proc2": 1, "proc3": 1, "proc4": 1}


def read(host: Host) -> Iterator[Sample]:
    found = parse_lines(host, "net/rpc/nfs", WIDTHS)
    yield from yield_figures(found, FIGURES)
    yield from yield_requests(host, found, REQUESTS, PROTOCOLS)


SOURCE = Source("nfs", METRICS, read)
