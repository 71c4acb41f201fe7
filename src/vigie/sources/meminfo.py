"""Memory usage, from /proc/meminfo."""

from __future__ import annotations

from collections.abc import Iterable

from vigie.model import Metric, Sample, gauge
from vigie.sources._fields import Fields
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    gauge("node_memory_MemTotal_bytes", "Total usable memory."),
    gauge("node_memory_MemFree_bytes", "Unused memory."),
    gauge("node_memory_MemAvailable_bytes", "Memory available to applications without swapping."),
    gauge("node_memory_Buffers_bytes", "Buffer cache of block devices and file system metadata."),
    gauge("node_memory_Cached_bytes", "Page cache, including shared memory."),
    gauge("node_memory_SwapCached_bytes", "Memory that is also in swap."),
    gauge("node_memory_Active_bytes", "Recently used memory, reclaimed last."),
    gauge("node_memory_Inactive_bytes", "Memory not recently used, reclaimed first."),
    gauge("node_memory_Active_anon_bytes", "Recently used anonymous memory."),
    gauge("node_memory_Inactive_anon_bytes", "Anonymous memory not recently used."),
    gauge("node_memory_Active_file_bytes", "Recently used page cache."),
    gauge("node_memory_Inactive_file_bytes", "Page cache not recently used."),
    gauge("node_memory_Unevictable_bytes", "Memory that cannot be reclaimed."),
    gauge("node_memory_Mlocked_bytes", "Memory locked with mlock."),
    gauge("node_memory_HighTotal_bytes", "High memory of a 32-bit kernel."),
    gauge("node_memory_HighFree_bytes", "Unused high memory of a 32-bit kernel."),
    gauge("node_memory_LowTotal_bytes", "Low memory of a 32-bit kernel."),
    gauge("node_memory_LowFree_bytes", "Unused low memory of a 32-bit kernel."),
    gauge("node_memory_MmapCopy_bytes", "Memory of mappings on a machine without an MMU."),
    gauge("node_memory_SwapTotal_bytes", "Total swap."),
    gauge("node_memory_SwapFree_bytes", "Unused swap."),
    gauge("node_memory_Zswap_bytes", "Memory used by zswap."),
    gauge("node_memory_Zswapped_bytes", "Uncompressed size of pages in zswap."),
    gauge("node_memory_Dirty_bytes", "Dirty page cache, not yet written to disk."),
    gauge("node_memory_Writeback_bytes", "Page cache being written to disk."),
    gauge("node_memory_AnonPages_bytes", "Mapped anonymous memory."),
    gauge("node_memory_Mapped_bytes", "Mapped files."),
    gauge("node_memory_Shmem_bytes", "Shared memory and tmpfs."),
    gauge("node_memory_KReclaimable_bytes", "Reclaimable kernel memory."),
    gauge("node_memory_Slab_bytes", "Slab memory."),
    gauge("node_memory_SReclaimable_bytes", "Reclaimable slab memory."),
    gauge(
        "node_memory_SUnreclaim_bytes", "Unreclaimable slab memory. Steady growth means a kernel memory leak."
    ),
    gauge("node_memory_KernelStack_bytes", "Kernel stacks."),
    gauge("node_memory_ShadowCallStack_bytes", "Shadow call stacks of the kernel."),
    gauge("node_memory_PageTables_bytes", "Page tables of user space."),
    gauge("node_memory_SecPageTables_bytes", "Page tables of guests and IOMMUs."),
    gauge("node_memory_NFS_Unstable_bytes", "NFS pages not yet committed; 0 since Linux 5.9."),
    gauge("node_memory_Bounce_bytes", "Bounce buffers."),
    gauge("node_memory_WritebackTmp_bytes", "Temporary buffers of FUSE writeback."),
    gauge("node_memory_CommitLimit_bytes", "Commit limit with strict overcommit."),
    gauge("node_memory_Committed_AS_bytes", "Committed memory, used or not."),
    gauge("node_memory_VmallocTotal_bytes", "Size of the vmalloc address space."),
    gauge("node_memory_VmallocUsed_bytes", "Used vmalloc memory."),
    gauge("node_memory_VmallocChunk_bytes", "Largest free vmalloc area; 0 since Linux 4.4."),
    gauge("node_memory_Percpu_bytes", "Per-CPU allocations of the kernel."),
    gauge("node_memory_EarlyMemtestBad_bytes", "Faulty memory found by the boot-time test."),
    gauge("node_memory_HardwareCorrupted_bytes", "Memory disabled after uncorrectable errors."),
    gauge("node_memory_AnonHugePages_bytes", "Anonymous memory in transparent huge pages."),
    gauge("node_memory_ShmemHugePages_bytes", "Shared memory and tmpfs in huge pages."),
    gauge("node_memory_ShmemPmdMapped_bytes", "Shared memory mapped with huge pages."),
    gauge("node_memory_FileHugePages_bytes", "Page cache in huge pages."),
    gauge("node_memory_FilePmdMapped_bytes", "Page cache mapped with huge pages."),
    gauge("node_memory_CmaTotal_bytes", "Contiguous memory reserved for devices (CMA)."),
    gauge("node_memory_CmaFree_bytes", "Unused contiguous memory (CMA)."),
    gauge("node_memory_Unaccepted_bytes", "Memory not yet accepted by this guest."),
    gauge("node_memory_Balloon_bytes", "Memory returned to the host by ballooning."),
    gauge("node_memory_GPUActive_bytes", "System memory used by GPU drivers."),
    gauge("node_memory_GPUReclaim_bytes", "System memory of GPU drivers that can be reclaimed."),
    gauge("node_memory_HugePages_Total", "Huge pages in the default pool."),
    gauge("node_memory_HugePages_Free", "Unused huge pages."),
    gauge("node_memory_HugePages_Rsvd", "Reserved huge pages, not yet allocated."),
    gauge("node_memory_HugePages_Surp", "Huge pages above the configured pool size."),
    gauge("node_memory_Hugepagesize_bytes", "Default huge page size."),
    gauge("node_memory_Hugetlb_bytes", "Memory in huge page pools of all sizes."),
    gauge("node_memory_DirectMap4k_bytes", "Kernel memory mapped with 4 KiB pages."),
    gauge("node_memory_DirectMap64k_bytes", "Kernel memory mapped with 64 KiB pages."),
    gauge("node_memory_DirectMap1M_bytes", "Kernel memory mapped with 1 MiB pages."),
    gauge("node_memory_DirectMap2M_bytes", "Kernel memory mapped with 2 MiB pages."),
    gauge("node_memory_DirectMap4M_bytes", "Kernel memory mapped with 4 MiB pages."),
    gauge("node_memory_DirectMap1G_bytes", "Kernel memory mapped with 1 GiB pages."),
    gauge("node_memory_DirectMap2G_bytes", "Kernel memory mapped with 2 GiB pages."),
    OTHER := gauge("node_memory_*_bytes", "Memory information field *."),
)

WANTED = {metric.name: metric for metric in METRICS if metric is not OTHER}


def read(host: Host) -> Iterable[Sample]:
    """Return the metric of any field."""
    if "fields" not in host.cache:
        host.cache["fields"] = Fields(0, _choose)
    fields: Fields = host.cache["fields"]
    return fields.samples(host, "/proc/meminfo", host.proc.read("meminfo"), ())


def _choose(name: str, in_kilobytes: bool) -> Metric | None:
    word = name.rstrip(":").replace("(", "_").replace(")", "")
    metric = WANTED.get(f"node_memory_{word}_bytes" if in_kilobytes else f"node_memory_{word}")
    if metric is None and in_kilobytes and word.isascii() and word.isidentifier():
        return OTHER.expand(word)
    return metric


SOURCE = Source("meminfo", METRICS, read)
