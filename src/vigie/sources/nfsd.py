"""NFS server statistics, from /proc/net/rpc/nfsd."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources._nfs import TRAILING_COLUMNS, V2, V3, parse_lines, yield_figures, yield_requests
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    HITS := counter("node_nfsd_reply_cache_hits_total", "Reply cache hits."),
    MISSES := counter("node_nfsd_reply_cache_misses_total", "Reply cache misses."),
    NOCACHE := counter("node_nfsd_reply_cache_nocache_total", "Requests that need no reply cache."),
    STALE := counter("node_nfsd_file_handles_stale_total", "Requests with a stale file handle."),
    READ := counter("node_nfsd_disk_bytes_read_total", "Bytes read by clients."),
    WRITTEN := counter("node_nfsd_disk_bytes_written_total", "Bytes written by clients."),
    THREADS := gauge("node_nfsd_server_threads", "Server threads."),
    AHEAD := gauge("node_nfsd_read_ahead_cache_size_blocks", "Size of the read-ahead cache, on old kernels."),
    AHEAD_MISSES := counter("node_nfsd_read_ahead_cache_not_found_total", "Read-ahead cache misses."),
    PACKETS := counter("node_nfsd_packets_total", "Packets exchanged with NFS clients.", "proto"),
    CONNECTIONS := counter("node_nfsd_connections_total", "TCP connections of NFS clients."),
    ERRORS := counter("node_nfsd_rpc_errors_total", "Rejected RPC calls, by error.", "error"),
    RPCS := counter("node_nfsd_server_rpcs_total", "RPC calls received."),
    REQUESTS := counter(
        "node_nfsd_requests_total", "RPC calls by NFS version and procedure.", "proto", "method"
    ),
)

FIGURES = (
    ("rc", 0, HITS, ()),
    ("rc", 1, MISSES, ()),
    ("rc", 2, NOCACHE, ()),
    ("fh", 0, STALE, ()),
    ("io", 0, READ, ()),
    ("io", 1, WRITTEN, ()),
    ("th", 0, THREADS, ()),
    ("ra", 0, AHEAD, ()),
    ("ra", 11, AHEAD_MISSES, ()),
    ("net", 1, PACKETS, ("udp",)),
    ("net", 2, PACKETS, ("tcp",)),
    ("net", 3, CONNECTIONS, ()),
    ("rpc", 0, RPCS, ()),
    ("rpc", 2, ERRORS, ("fmt",)),
    ("rpc", 3, ERRORS, ("auth",)),
    ("rpc", 4, ERRORS, ("cInt",)),
    ("wdeleg_getattr", 0, REQUESTS, ("4", "WdelegGetattr")),
)
# By the protocol's operation number. Node exporter omits some, and so do we.
V4 = (
    "- - - Access Close Commit Create DelegPurge DelegReturn GetAttr GetFH Link Lock Lockt Locku Lookup "
    "LookupRoot Nverify Open OpenAttr OpenConfirm OpenDgrd PutFH - - Read ReadDir ReadLink Remove Rename "
    "Renew RestoreFH SaveFH SecInfo SetAttr SetClientID SetClientIDConfirm Verify Write RelLockOwner"
)
PROTOCOLS = (
    ("proc2", "2", V2.replace("Null", TRAILING_COLUMNS).split()),
    ("proc3", "3", V3.replace("Null", TRAILING_COLUMNS).split()),
    ("proc4ops", "4", V4.split()),
)
WIDTHS = {
    "rc": 3,
    "fh": 5,
    "io": 2,
    "th": 2,
    "ra": 12,
    "net": 4,
    "rpc": 5,
    "proc2": 1,
    "proc3": 1,
    "proc4ops": 1,
    "wdeleg_getattr": 1,
}


def read(host: Host) -> Iterator[Sample]:
    found = parse_lines(host, "net/rpc/nfsd", WIDTHS)
    yield from yield_figures(found, FIGURES)
    yield from yield_requests(host, found, REQUESTS, PROTOCOLS)


SOURCE = Source("nfsd", METRICS, read)
