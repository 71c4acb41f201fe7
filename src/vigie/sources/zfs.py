"""ZFS ARC and pools, from /proc/spl/kstat/zfs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from vigie.model import Sample, gauge, untyped
from vigie.sources._attributes import AttributeFamily, parse_counters
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import LIMIT, to_printable

POOL = ("zpool",)
DATASET = ("zpool", "dataset")

METRICS = (
    STATE := gauge(
        "node_zfs_zpool_state", "1 for the current state of the pool, 0 for others.", *POOL, "state"
    ),
    OBJSET := untyped("node_zfs_zpool_dataset_*", "Kstat field * of a dataset.", *DATASET),
    IO := untyped("node_zfs_zpool_*", "Kstat field * of a pool's I/O.", *POOL),
    ABD := untyped("node_zfs_abd_*", "Kstat field * of abdstats."),
    ARC := untyped("node_zfs_arc_*", "Kstat field * of arcstats."),
    DBUF := untyped("node_zfs_dbuf_*", "Kstat field * of dbufstats."),
    DMU := untyped("node_zfs_dmu_tx_*", "Kstat field * of dmu_tx."),
    DNODE := untyped("node_zfs_dnode_*", "Kstat field * of dnodestats."),
    FM := untyped("node_zfs_fm_*", "Kstat field * of fm."),
    VDEV_CACHE := untyped("node_zfs_vdev_cache_*", "Kstat field * of vdev_cache_stats."),
    MIRROR := untyped("node_zfs_vdev_mirror_*", "Kstat field * of vdev_mirror_stats."),
    XUIO := untyped("node_zfs_xuio_*", "Kstat field * of xuio_stats."),
    ZFETCH := untyped("node_zfs_zfetch_*", "Kstat field * of zfetchstats."),
    ZIL := untyped("node_zfs_zil_*", "Kstat field * of zil."),
)

KSTATS = {
    "abdstats": AttributeFamily(ABD),
    "arcstats": AttributeFamily(ARC),
    "dbufstats": AttributeFamily(DBUF),
    "dbuf_stats": AttributeFamily(DBUF),
    "dmu_tx": AttributeFamily(DMU),
    "dnodestats": AttributeFamily(DNODE),
    "fm": AttributeFamily(FM),
    "vdev_cache_stats": AttributeFamily(VDEV_CACHE),
    "vdev_mirror_stats": AttributeFamily(MIRROR),
    "xuio_stats": AttributeFamily(XUIO),
    "zfetchstats": AttributeFamily(ZFETCH),
    "zil": AttributeFamily(ZIL),
}
OBJSETS, IOS = AttributeFamily(OBJSET), AttributeFamily(IO)

TOP = "spl/kstat/zfs"
STATES = ("online", "degraded", "faulted", "offline", "removed", "unavail", "suspended")
MIN_COLUMNS = {"3": -LIMIT // 2, "4": 0}  # KSTAT_DATA_INT64 and KSTAT_DATA_UINT64


def read(host: Host) -> Iterator[Sample]:
    """Yield the module's kstats, then those of every pool."""
    names = host.proc.list_directory(TOP)
    if not names:
        raise Unavailable("no statistics in /proc/spl/kstat/zfs")
    for name in names:
        if name in KSTATS:
            yield from _read_kstat(host, f"{TOP}/{name}", KSTATS[name], ())
        else:
            yield from _read_pool(host, name)


def _read_kstat(host: Host, path: str, family: AttributeFamily, labels: tuple[str, ...]) -> Iterable[Sample]:
    """Return the numbers below the header `name type data`."""
    body = (host.proc.read_text(path) or "").partition("data\n")[2]
    words = body.split()
    if words[:1] == ["dataset_name"]:
        named, words = (*labels, *map(to_printable, words[2:3])), words[3:]
    else:
        named = labels
    shape = (words[0::3], words[1::3])
    known, metrics = host.cache.get(family.row.name, (None, []))
    if known == shape:  # the usual case: no need to check each line
        try:
            return zip(metrics, repeat(named), parse_counters(words[2::3]))
        except ValueError:  # searched again below
            pass
    metrics = [family[name] for name in shape[0]]
    if None not in metrics and all(kind in MIN_COLUMNS for kind in shape[1]):
        host.cache[family.row.name] = (shape, metrics)
    return _parse_lines(host, path, family, labels, body)


def _parse_lines(
    host: Host, path: str, family: AttributeFamily, labels: tuple[str, ...], body: str
) -> Iterator[Sample]:
    for line in body.split("\n"):
        words = line.split(None, 2)
        if len(words) < 3:
            continue
        name, kind, data = words
        if kind in MIN_COLUMNS:
            if (value := _parse_whole(data, MIN_COLUMNS[kind])) is None:
                host.note(f"/proc/{path} {name}", f"invalid number {data[:32]!r}")
            elif (metric := family[name]) is not None and len(labels) == len(metric.labels):
                yield metric, labels, value
        elif name == "dataset_name":
            labels = (*labels[:1], to_printable(data))


def _parse_whole(text: str, least: int) -> int | None:
    try:
        value = int(text)
    except ValueError:
        return None
    return value if least <= value < LIMIT else None


def _read_pool(host: Host, name: str) -> Iterator[Sample]:
    pool, path = to_printable(name), f"{TOP}/{name}"
    for file in host.proc.list_names(path):
        if file.startswith("objset-"):
            yield from _read_kstat(host, f"{path}/{file}", OBJSETS, (pool,))
        elif file == "io":
            yield from _read_io(host, f"{path}/io", pool)
        elif file == "state":
            state = (host.proc.read_text(f"{path}/state") or "").lower()
            if state:
                for each in STATES:
                    yield STATE, (pool, each), int(each == state)


def _read_io(host: Host, path: str, pool: str) -> Iterator[Sample]:
    """Yield the numbers of a file with names in its second line and values in its third."""
    lines = (host.proc.read_text(path) or "").splitlines()
    for name, data in zip(*(line.split() for line in lines[1:3])) if len(lines) > 2 else ():
        value, metric = _parse_whole(data, 0), IOS[name]
        if value is None:
            host.note(f"/proc/{path} {name}", f"invalid number {data[:32]!r}")
        elif metric is not None:
            yield metric, (pool,), value


SOURCE = Source("zfs", METRICS, read)
