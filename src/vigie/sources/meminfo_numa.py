"""How each NUMA node's memory is used and where allocations went, from sysfs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, counter, gauge
from vigie.sources._fields import Fields
from vigie.sources._number_lists import parse_number_list
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    gauge("node_memory_numa_MemTotal", "Bytes of memory of the node.", "node"),
    gauge("node_memory_numa_MemFree", "Bytes that nobody uses for anything.", "node"),
    gauge("node_memory_numa_MemUsed", "Bytes in use, caches included.", "node"),
    gauge("node_memory_numa_SwapCached", "Bytes in memory that also still have a copy in swap.", "node"),
    gauge("node_memory_numa_Active", "Bytes used lately.", "node"),
    gauge("node_memory_numa_Inactive", "Bytes not used lately.", "node"),
    gauge("node_memory_numa_Active_anon", "Bytes of programs' own memory used lately.", "node"),
    gauge("node_memory_numa_Inactive_anon", "Bytes of programs' own memory not used lately.", "node"),
    gauge("node_memory_numa_Active_file", "Bytes of cached files used lately.", "node"),
    gauge("node_memory_numa_Inactive_file", "Bytes of cached files not used lately.", "node"),
    gauge("node_memory_numa_Unevictable", "Bytes that can neither be dropped nor swapped out.", "node"),
    gauge("node_memory_numa_Mlocked", "Bytes that programs locked with mlock.", "node"),
    gauge("node_memory_numa_HighTotal", "Bytes above what a 32-bit kernel maps directly.", "node"),
    gauge("node_memory_numa_HighFree", "Unused bytes above what a 32-bit kernel maps directly.", "node"),
    gauge("node_memory_numa_LowTotal", "Bytes that a 32-bit kernel maps directly.", "node"),
    gauge("node_memory_numa_LowFree", "Unused bytes that a 32-bit kernel maps directly.", "node"),
    gauge("node_memory_numa_Dirty", "Bytes of changed files not yet being written.", "node"),
    gauge("node_memory_numa_Writeback", "Bytes of changed files being written now.", "node"),
    gauge("node_memory_numa_FilePages", "Bytes of cached files, shared memory included.", "node"),
    gauge("node_memory_numa_Mapped", "Bytes of files that programs have mapped.", "node"),
    gauge("node_memory_numa_AnonPages", "Bytes of programs' own memory that is mapped.", "node"),
    gauge("node_memory_numa_Shmem", "Bytes of shared memory and tmpfs.", "node"),
    gauge("node_memory_numa_KernelStack", "Bytes of kernel stacks.", "node"),
    gauge("node_memory_numa_ShadowCallStack", "Bytes of stacks that guard return addresses.", "node"),
    gauge("node_memory_numa_PageTables", "Bytes of page tables of user programs.", "node"),
    gauge("node_memory_numa_SecPageTables", "Bytes of page tables of guests and of IOMMUs.", "node"),
    gauge("node_memory_numa_NFS_Unstable", "Bytes written to NFS but not confirmed.", "node"),
    gauge("node_memory_numa_Bounce", "Bytes copied for devices that cannot reach all memory.", "node"),
    gauge("node_memory_numa_WritebackTmp", "Bytes that FUSE copied while writing.", "node"),
    gauge("node_memory_numa_KReclaimable", "Bytes the kernel would give back under pressure.", "node"),
    gauge("node_memory_numa_Slab", "Bytes in the kernel's object caches.", "node"),
    gauge("node_memory_numa_SReclaimable", "Bytes in object caches that would be given back.", "node"),
    gauge("node_memory_numa_SUnreclaim", "Bytes in object caches that stay.", "node"),
    gauge("node_memory_numa_AnonHugePages", "Bytes of programs' own memory in huge pages.", "node"),
    gauge("node_memory_numa_ShmemHugePages", "Bytes of shared memory in huge pages.", "node"),
    gauge("node_memory_numa_ShmemPmdMapped", "Bytes of shared memory mapped by huge pages.", "node"),
    gauge("node_memory_numa_FileHugePages", "Bytes of cached files in huge pages.", "node"),
    gauge("node_memory_numa_FilePmdMapped", "Bytes of cached files mapped by huge pages.", "node"),
    gauge("node_memory_numa_Unaccepted", "Bytes that this guest has yet to accept from its host.", "node"),
    gauge("node_memory_numa_Balloon", "Bytes that this guest gave back to its host.", "node"),
    gauge("node_memory_numa_GPUActive", "Bytes that GPU drivers have handed out.", "node"),
    gauge("node_memory_numa_GPUReclaim", "Bytes that GPU drivers hold but could give back.", "node"),
    gauge("node_memory_numa_HugePages_Total", "Huge pages in the node's pool.", "node"),
    gauge("node_memory_numa_HugePages_Free", "Huge pages of the pool that hold nothing.", "node"),
    gauge("node_memory_numa_HugePages_Surp", "Huge pages beyond the configured size of the pool.", "node"),
    counter("node_memory_numa_numa_hit_total", "Pages taken from this node as wished.", "node"),
    counter("node_memory_numa_numa_miss_total", "Pages taken here though wished elsewhere.", "node"),
    counter("node_memory_numa_numa_foreign_total", "Pages wished here but taken elsewhere.", "node"),
    counter("node_memory_numa_interleave_hit_total", "Pages spread by policy that landed here.", "node"),
    counter("node_memory_numa_local_node_total", "Pages taken here by the node's own cores.", "node"),
    counter("node_memory_numa_other_node_total", "Pages taken here by other nodes' cores.", "node"),
    OTHER := gauge(
        "node_memory_numa_*", "What the kernel counts as *, in bytes where it has a size.", "node"
    ),
)

WANTED = {metric.name[len("node_memory_numa_") :]: metric for metric in METRICS if metric is not OTHER}
NODES = "devices/system/node/"


def read(host: Host) -> Iterator[Sample]:
    """Yield each node's two files; a node that cannot be read costs only itself."""
    nodes = host.sys.read_text(NODES + "online")
    if nodes is None:
        raise Unavailable("this kernel does not tell NUMA nodes apart")
    if "usage" not in host.cache:
        host.cache.update(usage=Fields(2, _usage), places=Fields(0, _place))
    for node in parse_number_list(nodes):
        labels = (str(node),)
        for file, fields in (("meminfo", host.cache["usage"]), ("numastat", host.cache["places"])):
            path = f"{NODES}node{node}/{file}"
            text = host.sys.read_text(path)
            if text is not None:
                yield from fields.samples(host, f"/sys/{path}", text, labels)


def _usage(name: str, _in_kilobytes: bool) -> Metric | None:
    word = name.rstrip(":").replace("(", "_").replace(")", "")
    metric = WANTED.get(word)
    if metric is None and word.isascii() and word.isidentifier():
        return OTHER.expand(word)
    return metric


def _place(name: str, _in_kilobytes: bool) -> Metric | None:
    return WANTED.get(name + "_total")


SOURCE = Source("meminfo_numa", METRICS, read)
