"""How memory is used, from /proc/meminfo."""

from __future__ import annotations

from collections.abc import Iterable

from vigie.model import Metric, Sample, gauge
from vigie.sources._fields import Fields
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source

METRICS = (
    gauge("node_memory_MemTotal_bytes", "Memory that the kernel has to give out."),
    gauge("node_memory_MemFree_bytes", "Memory that nobody uses for anything."),
    gauge("node_memory_MemAvailable_bytes", "Memory that programs could still get without swapping."),
    gauge("node_memory_Buffers_bytes", "Cached blocks of raw devices and of file system metadata."),
    gauge("node_memory_Cached_bytes", "Cached contents of files, shared memory included."),
    gauge("node_memory_SwapCached_bytes", "Pages in memory that also still have a valid copy in swap."),
    gauge("node_memory_Active_bytes", "Memory used lately, which is reclaimed last."),
    gauge("node_memory_Inactive_bytes", "Memory not used lately, which is reclaimed first."),
    gauge("node_memory_Active_anon_bytes", "Programs' own memory that was used lately."),
    gauge("node_memory_Inactive_anon_bytes", "Programs' own memory that was not used lately."),
    gauge("node_memory_Active_file_bytes", "Cached file contents that were used lately."),
    gauge("node_memory_Inactive_file_bytes", "Cached file contents that were not used lately."),
    gauge("node_memory_Unevictable_bytes", "Memory that can neither be dropped nor swapped out."),
    gauge("node_memory_Mlocked_bytes", "Memory that programs locked with mlock."),
    gauge("node_memory_HighTotal_bytes", "Memory above what a 32-bit kernel maps directly."),
    gauge("node_memory_HighFree_bytes", "Unused memory above what a 32-bit kernel maps directly."),
    gauge("node_memory_LowTotal_bytes", "Memory that a 32-bit kernel maps directly."),
    gauge("node_memory_LowFree_bytes", "Unused memory that a 32-bit kernel maps directly."),
    gauge("node_memory_MmapCopy_bytes", "Memory allocated for mappings on a machine without an MMU."),
    gauge("node_memory_SwapTotal_bytes", "Size of all swap areas."),
    gauge("node_memory_SwapFree_bytes", "Swap that holds nothing."),
    gauge("node_memory_Zswap_bytes", "Memory that compressed swapped-out pages take up."),
    gauge("node_memory_Zswapped_bytes", "Memory that the pages kept in compressed form took before."),
    gauge("node_memory_Dirty_bytes", "Changed file contents not yet being written to storage."),
    gauge("node_memory_Writeback_bytes", "Changed file contents being written to storage now."),
    gauge("node_memory_AnonPages_bytes", "Programs' own memory, not backed by a file, that is mapped."),
    gauge("node_memory_Mapped_bytes", "File contents that programs have mapped."),
    gauge("node_memory_Shmem_bytes", "Shared memory and tmpfs."),
    gauge("node_memory_KReclaimable_bytes", "Kernel memory that would be given back under pressure."),
    gauge("node_memory_Slab_bytes", "Memory in the kernel's object caches."),
    gauge("node_memory_SReclaimable_bytes", "Object caches that would be given back under pressure."),
    gauge("node_memory_SUnreclaim_bytes", "Object caches that stay; when they only grow, the kernel leaks."),
    gauge("node_memory_KernelStack_bytes", "Kernel stacks of all threads."),
    gauge("node_memory_ShadowCallStack_bytes", "Second kernel stacks that guard return addresses."),
    gauge("node_memory_PageTables_bytes", "Page tables of user programs."),
    gauge("node_memory_SecPageTables_bytes", "Page tables of guests and of IOMMUs."),
    gauge("node_memory_NFS_Unstable_bytes", "Written to NFS but not confirmed; 0 since Linux 5.9."),
    gauge("node_memory_Bounce_bytes", "Copies for devices that cannot reach all memory."),
    gauge("node_memory_WritebackTmp_bytes", "Temporary copies that FUSE makes while writing."),
    gauge("node_memory_CommitLimit_bytes", "Most memory that may be promised when strict overcommit is on."),
    gauge("node_memory_Committed_AS_bytes", "Memory promised to programs, whether or not they touched it."),
    gauge("node_memory_VmallocTotal_bytes", "Address space for the kernel's virtually contiguous memory."),
    gauge("node_memory_VmallocUsed_bytes", "Virtually contiguous kernel memory in use."),
    gauge("node_memory_VmallocChunk_bytes", "Largest free piece of that space; 0 since Linux 4.4."),
    gauge("node_memory_Percpu_bytes", "Memory that the kernel keeps separately for each core."),
    gauge("node_memory_EarlyMemtestBad_bytes", "Memory that the test at boot found bad."),
    gauge("node_memory_HardwareCorrupted_bytes", "Memory taken out of use after uncorrectable errors."),
    gauge("node_memory_AnonHugePages_bytes", "Programs' own memory in transparent huge pages."),
    gauge("node_memory_ShmemHugePages_bytes", "Shared memory and tmpfs in huge pages."),
    gauge("node_memory_ShmemPmdMapped_bytes", "Shared memory that programs map by huge pages."),
    gauge("node_memory_FileHugePages_bytes", "Cached file contents in huge pages."),
    gauge("node_memory_FilePmdMapped_bytes", "Cached file contents that programs map by huge pages."),
    gauge("node_memory_CmaTotal_bytes", "Memory set aside for devices that need it in one piece."),
    gauge("node_memory_CmaFree_bytes", "Unused memory among that set aside for devices."),
    gauge("node_memory_Unaccepted_bytes", "Memory that this guest has yet to accept from its host."),
    gauge("node_memory_Balloon_bytes", "Memory that this guest gave back to its host."),
    gauge("node_memory_GPUActive_bytes", "System memory that GPU drivers have handed out."),
    gauge("node_memory_GPUReclaim_bytes", "System memory that GPU drivers hold but could give back."),
    gauge("node_memory_HugePages_Total", "Huge pages in the pool of the default size."),
    gauge("node_memory_HugePages_Free", "Huge pages of the pool that hold nothing."),
    gauge("node_memory_HugePages_Rsvd", "Huge pages promised to programs that have not touched them yet."),
    gauge("node_memory_HugePages_Surp", "Huge pages beyond the configured size of the pool."),
    gauge("node_memory_Hugepagesize_bytes", "Default size of a huge page."),
    gauge("node_memory_Hugetlb_bytes", "Memory in huge page pools of all sizes."),
    gauge("node_memory_DirectMap4k_bytes", "Memory that the kernel maps by pages of 4 KiB."),
    gauge("node_memory_DirectMap64k_bytes", "Memory that the kernel maps by pages of 64 KiB."),
    gauge("node_memory_DirectMap1M_bytes", "Memory that the kernel maps by pages of 1 MiB."),
    gauge("node_memory_DirectMap2M_bytes", "Memory that the kernel maps by pages of 2 MiB."),
    gauge("node_memory_DirectMap4M_bytes", "Memory that the kernel maps by pages of 4 MiB."),
    gauge("node_memory_DirectMap1G_bytes", "Memory that the kernel maps by pages of 1 GiB."),
    gauge("node_memory_DirectMap2G_bytes", "Memory that the kernel maps by pages of 2 GiB."),
    OTHER := gauge("node_memory_*_bytes", "Memory that the kernel counts as *."),
)

WANTED = {metric.name: metric for metric in METRICS if metric is not OTHER}


def read(host: Host) -> Iterable[Sample]:
    """Return every field that the kernel has."""
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
