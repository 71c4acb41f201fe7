"""Memory usage and allocations by NUMA node, from sysfs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, counter, gauge
from vigie.sources._fields import Fields
from vigie.sources._number_lists import parse_number_list
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    gauge("node_memory_numa_MemTotal", "Total bytes of the node.", "node"),
    gauge("node_memory_numa_MemFree", "Unused bytes.", "node"),
    gauge("node_memory_numa_MemUsed", "Used bytes, including caches.", "node"),
    gauge("node_memory_numa_SwapCached", "Bytes that are also in swap.", "node"),
    gauge("node_memory_numa_Active", "Recently used bytes.", "node"),
    gauge("node_memory_numa_Inactive", "Bytes not recently used.", "node"),
    gauge("node_memory_numa_Active_anon", "Recently used bytes of anonymous memory.", "node"),
    gauge("node_memory_numa_Inactive_anon", "Bytes of anonymous memory not recently used.", "node"),
    gauge("node_memory_numa_Active_file", "Recently used bytes of page cache.", "node"),
    gauge("node_memory_numa_Inactive_file", "Bytes of page cache not recently used.", "node"),
    gauge("node_memory_numa_Unevictable", "Bytes that cannot be reclaimed.", "node"),
    gauge("node_memory_numa_Mlocked", "Bytes locked with mlock.", "node"),
    gauge("node_memory_numa_HighTotal", "Bytes of high memory of a 32-bit kernel.", "node"),
    gauge("node_memory_numa_HighFree", "Unused bytes of high memory of a 32-bit kernel.", "node"),
    gauge("node_memory_numa_LowTotal", "Bytes of low memory of a 32-bit kernel.", "node"),
    gauge("node_memory_numa_LowFree", "Unused bytes of low memory of a 32-bit kernel.", "node"),
    gauge("node_memory_numa_Dirty", "Dirty bytes of page cache.", "node"),
    gauge("node_memory_numa_Writeback", "Bytes of page cache being written to disk.", "node"),
    gauge("node_memory_numa_FilePages", "Bytes of page cache, including shared memory.", "node"),
    gauge("node_memory_numa_Mapped", "Bytes of mapped files.", "node"),
    gauge("node_memory_numa_AnonPages", "Bytes of mapped anonymous memory.", "node"),
    gauge("node_memory_numa_Shmem", "Bytes of shared memory and tmpfs.", "node"),
    gauge("node_memory_numa_KernelStack", "Bytes of kernel stacks.", "node"),
    gauge("node_memory_numa_ShadowCallStack", "Bytes of shadow call stacks.", "node"),
    gauge("node_memory_numa_PageTables", "Bytes of page tables of user space.", "node"),
    gauge("node_memory_numa_SecPageTables", "Bytes of page tables of guests and IOMMUs.", "node"),
    gauge("node_memory_numa_NFS_Unstable", "Bytes of NFS pages not yet committed.", "node"),
    gauge("node_memory_numa_Bounce", "Bytes of bounce buffers.", "node"),
    gauge("node_memory_numa_WritebackTmp", "Bytes of temporary FUSE buffers.", "node"),
    gauge("node_memory_numa_KReclaimable", "Bytes of reclaimable kernel memory.", "node"),
    gauge("node_memory_numa_Slab", "Bytes of slab memory.", "node"),
    gauge("node_memory_numa_SReclaimable", "Bytes of reclaimable slab memory.", "node"),
    gauge("node_memory_numa_SUnreclaim", "Bytes of unreclaimable slab memory.", "node"),
    gauge("node_memory_numa_AnonHugePages", "Bytes of anonymous memory in huge pages.", "node"),
    gauge("node_memory_numa_ShmemHugePages", "Bytes of shared memory in huge pages.", "node"),
    gauge("node_memory_numa_ShmemPmdMapped", "Bytes of shared memory mapped with huge pages.", "node"),
    gauge("node_memory_numa_FileHugePages", "Bytes of page cache in huge pages.", "node"),
    gauge("node_memory_numa_FilePmdMapped", "Bytes of page cache mapped with huge pages.", "node"),
    gauge("node_memory_numa_Unaccepted", "Bytes not yet accepted by this guest.", "node"),
    gauge("node_memory_numa_Balloon", "Bytes returned to the host by ballooning.", "node"),
    gauge("node_memory_numa_GPUActive", "Bytes used by GPU drivers.", "node"),
    gauge("node_memory_numa_GPUReclaim", "Bytes of GPU drivers that can be reclaimed.", "node"),
    gauge("node_memory_numa_HugePages_Total", "Huge pages in the node's pool.", "node"),
    gauge("node_memory_numa_HugePages_Free", "Unused huge pages.", "node"),
    gauge("node_memory_numa_HugePages_Surp", "Huge pages above the configured pool size.", "node"),
    counter("node_memory_numa_numa_hit_total", "Pages allocated on this node as intended.", "node"),
    counter("node_memory_numa_numa_miss_total", "Pages allocated here, intended for another node.", "node"),
    counter(
        "node_memory_numa_numa_foreign_total", "Pages intended for this node, allocated elsewhere.", "node"
    ),
    counter("node_memory_numa_interleave_hit_total", "Interleaved pages allocated here.", "node"),
    counter("node_memory_numa_local_node_total", "Pages allocated here by local CPUs.", "node"),
    counter("node_memory_numa_other_node_total", "Pages allocated here by CPUs of other nodes.", "node"),
    OTHER := gauge(
        "node_memory_numa_*", "Field * of the node's memory statistics, in bytes if it has a size.", "node"
    ),
)

WANTED = {metric.name[len("node_memory_numa_") :]: metric for metric in METRICS if metric is not OTHER}
NODES = "devices/system/node/"


def read(host: Host) -> Iterator[Sample]:
    """Yield both files of each node. An unreadable node affects only itself."""
    nodes = host.sys.read_text(NODES + "online")
    if nodes is None:
        raise Unavailable("the kernel has no NUMA support")
    if "usage" not in host.cache:
        host.cache.update(usage=Fields(2, _read_usage), places=Fields(0, _find_field))
    for node in parse_number_list(nodes):
        labels = (str(node),)
        for file, fields in (("meminfo", host.cache["usage"]), ("numastat", host.cache["places"])):
            path = f"{NODES}node{node}/{file}"
            text = host.sys.read_text(path)
            if text is not None:
                yield from fields.samples(host, f"/sys/{path}", text, labels)


def _read_usage(name: str, _in_kilobytes: bool) -> Metric | None:
    word = name.rstrip(":").replace("(", "_").replace(")", "")
    metric = WANTED.get(word)
    if metric is None and word.isascii() and word.isidentifier():
        return OTHER.expand(word)
    return metric


def _find_field(name: str, _in_kilobytes: bool) -> Metric | None:
    return WANTED.get(name + "_total")


SOURCE = Source("meminfo_numa", METRICS, read)
