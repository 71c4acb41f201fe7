"""The embedded time series store: append, sync, select."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType

from vigie.model import Frame
from vigie.query.storage import Labels, Load, Matcher, RollupGroup, SeriesGroup
from vigie.store.appender import Appender
from vigie.store.blocks.repair import open_or_repair
from vigie.store.check import verify_log
from vigie.store.corruption import CorruptionLog
from vigie.store.directory_lock import DirectoryLock, check_format
from vigie.store.errors import CorruptionError, InvalidInputError, StoreError
from vigie.store.filesystem import DiskSpace, SpaceLimits, SpaceMonitor, disk_space, refuse_remote
from vigie.store.heads.head import Head
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.heads.stream import HEAD_LIMITS, HeadLimits, Stream
from vigie.store.heads.ungrouped import Samples, UngroupedSeries
from vigie.store.maintenance import Maintenance
from vigie.store.malloc_trim import MallocTrim
from vigie.store.read import lookup
from vigie.store.read.chunk_cache import ChunkCache
from vigie.store.read.cost_estimate import estimate_samples
from vigie.store.read.group_reader import fetch_group, find_pieces, read_group
from vigie.store.read.lookup import Lookup
from vigie.store.read.scan import Scan
from vigie.store.read.transaction import ReadTransaction
from vigie.store.recovery import Recovery
from vigie.store.retention import Retention
from vigie.store.rollups.rollups import TIERS, RollupStore
from vigie.store.rollups.tier import TierConfig
from vigie.store.series.cardinality import Pairs, count_label_pairs
from vigie.store.series.layout import Layout, Layouts, Target
from vigie.store.series.match_cache import MatchCache
from vigie.store.wal.records import StreamName, WalRow, check_time
from vigie.store.wal.wal import SEGMENT_BYTES, WriteAheadLog

log = logging.getLogger(__name__)
MAX_UNSYNCED_BYTES = 64 << 20  # bytes of unsynced values at which an append syncs
NO_LIMIT = 1 << 62
RETENTION = Retention()
SPACE_LIMITS = SpaceLimits()


class Store:
    """Thread-safe; only sync, flush and maintain wait for the disk."""

    def __init__(
        self,
        directory: Path | str,
        *,
        head_limits: HeadLimits = HEAD_LIMITS,
        retention: Retention = RETENTION,
        tiers: Sequence[TierConfig] = TIERS,
        segment_bytes: int = SEGMENT_BYTES,
        space_limits: SpaceLimits = SPACE_LIMITS,
        space: Callable[[Path], DiskSpace] = disk_space,
        warn: Callable[[str], None] = log.warning,
        allow_remote: bool = False,
    ) -> None:
        self.directory = Path(directory)
        if not allow_remote:
            refuse_remote(self.directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._space = SpaceMonitor(self.directory, space_limits, space, warn)
        self._space.measure()
        retention = retention.resolve(space(self.directory).total)
        self._lock = threading.RLock()
        self._head_limits = head_limits
        self._corruption_log = CorruptionLog()
        self._index = Index()
        self._chunk_cache = ChunkCache()
        with ExitStack() as opened:
            self._directory_lock = DirectoryLock(self.directory)
            opened.callback(self._directory_lock.release)
            check_format(self.directory)
            self._layouts = Layouts()
            self._ungrouped = UngroupedSeries(self._layouts, self._open_stream)
            path = self.directory / "blocks.sqlite"
            self._blocks = open_or_repair(
                path, self._layouts, self._corruption_log, head_limits.cached_series
            )
            opened.callback(self._blocks.close)
            self._rollups = RollupStore(
                self.directory,
                self._layouts,
                self._index,
                self._fetch_raw,
                self._corruption_log,
                retention.max_bytes,
                lambda: self._log.position,
                tiers,
            )
            opened.callback(self._rollups.close)
            self._log = WriteAheadLog(self.directory / "log", self._layouts, segment_bytes, self._lock)
            self._blocks.database.read_ahead()
            self._recover()
            opened.callback(self._log.close)
            self._opened = opened.pop_all()
        self._appender = Appender(
            self._layouts, self._open_stream, self._index, self._blocks, self._rollups, self._log, self._space
        )
        self._is_forked = False
        self._read_transaction = ReadTransaction(self._lock, self._blocks.database)
        self._malloc_trim = MallocTrim()
        self._maintenance = Maintenance(
            self._lock,
            self._index,
            self._blocks,
            self._log,
            self._layouts,
            head_limits,
            retention,
            self._rollups,
            self._forget_streams,
        )

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Sync and release the directory; what is in memory is replayed from the log at the next start."""
        self._check_writable()
        self._opened.close()

    def append(self, node_labels: Labels, frame: Frame) -> None:
        self._check_writable()
        with self._lock:
            target = _target(node_labels)
            check_time(frame.time_ms)
            if frame.parts:
                self._appender.append(target, frame)
        self._sync_if_needed()

    def append_series(self, series: Iterable[Samples]) -> None:
        """Append series with their own times; existing samples are not replaced."""
        self._check_writable()
        with self._lock:
            rows = self._ungrouped.rows(list(series))
            self._appender.append_rows(
                [(p.stream, WalRow(p.stream.name, p.layout, p.time, p.row)) for p in rows]
            )
            for stream in dict.fromkeys(row.stream for row in rows):
                self._ungrouped.regroup(stream)
        self._sync_if_needed()

    def sync(self) -> None:
        """Return when everything appended before is durable."""
        self._check_writable()
        self._log.sync()

    def flush(self) -> None:
        """Write everything in memory into blocks."""
        self._check_writable()
        self._maintenance.flush_all()

    def maintain(self, now_ms: int) -> None:
        """Write chunks that are due, apply retention, drop old log segments; call about every ten seconds."""
        self._check_writable()
        self._space.measure()
        self._maintenance.throttle.start_round()
        self._maintenance.throttle.yield_to_queries()
        try:  # before raw data expire
            self._rollups.maintain(
                now_ms, self._lock, self._maintenance.work_lock, self._maintenance.throttle
            )
        finally:  # otherwise memory and log would grow while rollups fail
            self._maintenance.maintain(now_ms)
        self._malloc_trim.trim(now_ms)

    def stop_maintenance(self) -> None:
        """Let maintenance in another thread end soon, and start no more."""
        self._maintenance.throttle.stop()

    def query_running(self) -> AbstractContextManager[None]:
        """Let maintenance yield while a query runs in this process."""
        return self._maintenance.throttle.query_running()

    def delete(self, matchers: Sequence[Matcher]) -> int:
        """Delete every target whose labels match, with all its data; return their number."""
        self._check_writable()
        if not matchers:
            raise InvalidInputError("name what to delete; no matchers would be everything")
        with self._lock:
            targets = list(dict.fromkeys([*self._index.targets(matchers), *self._rollups.targets(matchers)]))
            streams = [stream for target in targets for stream in self._index.streams_of(target)]
            if targets:
                self._log.append_deletion(targets)
            for stream in streams:
                self._index.remove(stream)
            self._forget_streams(streams)
            self._rollups.forget(targets)
            self._maintenance.mark_for_deletion(streams)
        self._log.sync()
        self._maintenance.delete_pending()
        return len(targets)

    @property
    def corruption_reports(self) -> list[str]:
        """Return what was found damaged so far, on opening or while reading."""
        return list(self._corruption_log)

    def series_count(self) -> int:
        """Return the approximate number of live series: those of the newest rows in memory."""
        return sum(len(layout) for _, layout in self._live_layouts())

    def label_cardinality(self) -> Pairs:
        return count_label_pairs(self._live_layouts())

    def _live_layouts(self) -> list[tuple[Target, Layout]]:
        with self._lock:
            live = [(stream, self._appender.layout(stream)) for stream in self._index if stream.pieces]
            return [(stream.name.target, layout or stream.pieces[-1].layout) for stream, layout in live]

    def check(self) -> list[str]:
        """Verify every checksum in log and blocks; return the defects."""
        self._check_writable()
        self._log.sync()
        return [*verify_log(self.directory / "log"), *self._blocks.verify(), *self._rollups.verify()]

    def bytes_on_disk(self) -> tuple[int, int]:
        """Return the bytes of blocks, including rollups, and of the log."""
        self._log.sync()
        with self._blocks.database.write_lock:  # no thread may be inside SQLite when a child is forked
            blocks = self._blocks.size()
        return blocks + self._rollups.size(), self._log.bytes_on_disk

    @contextmanager
    def fork_lock(self) -> Iterator[None]:
        database = self._blocks.database
        with (
            database.write_lock,  # a commit is slow, so the store's lock comes after these
            self._rollups.block_writes(),
            self._lock,
            database.read_lock,
            self._rollups.block_reads(),
            database.fork_barrier.hold(),
        ):
            yield

    def after_fork(self) -> None:
        """Continue in a child that was forked inside `fork_lock`: it can read, and never writes.

        The child must keep the inherited files of the data directory open.
        """
        self._is_forked = True
        self._lock = threading.RLock()
        self._rollups.after_fork()
        self._blocks.after_fork()
        self._chunk_cache.after_fork()
        self._read_transaction = ReadTransaction(self._lock, self._blocks.database)
        self._directory_lock.release()  # the parent still holds it; a child that outlives it must not

    def estimate_samples(
        self, matchers: Sequence[Matcher], start: int, end: int, enough: int = NO_LIMIT
    ) -> int:
        """Return the approximate number of samples a selection would read, or any number above `enough`."""
        return estimate_samples(self._lock, self._index, self._blocks, matchers, start, end, enough)

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        return [group for load in self.scan(matchers, start, end) if (group := load()) is not None]

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read the same groups one by one, in any thread."""
        return Scan(self._read_transaction, self._index, self._blocks, start, end, self._chunk_cache).loads(
            matchers
        )

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of series with chunks in the time range."""
        return lookup.series(self._find_lookups(matchers, start, end))

    def first_series(self, matchers: Sequence[Matcher], start: int, end: int, limit: int) -> list[Labels]:
        return lookup.series(self._find_lookups(matchers, start, end), limit)

    def series_up_to(
        self, matchers: Sequence[Matcher], start: int, end: int, limit: int
    ) -> list[Labels] | None:
        found = self.first_series(matchers, start, end, limit + 1)
        return found if len(found) <= limit else None

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        return lookup.label_names(self._find_lookups(matchers, start, end))

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        return lookup.label_values(name, self._find_lookups(matchers, start, end))

    def _find_lookups(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Lookup]:
        indexes = [(self._index, self._blocks)]
        if start < self._rollups.raw_since:
            indexes += [(tier.index, tier.blocks) for tier in self._rollups.tiers]
        with self._lock:
            found = [(index, list(index.find(matchers)), blocks) for index, blocks in indexes]
        return [Lookup(*each, self._read_transaction, start, end) for each in found]

    def raw_since(self) -> int:
        """Return the time from which on all raw samples are kept."""
        return self._rollups.raw_since

    def rollup_widths(self) -> list[int]:
        return [tier.config.width for tier in self._rollups.tiers]

    def rollups_since(self, width: int) -> int:
        with self._lock:
            return self._rollups.since(width)

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets of matching series between two multiples of the width."""
        return self._rollups.groups(self._read_transaction, matchers, start, end, width, fields)

    def _fetch_raw(
        self, found: StreamMatch, matches: MatchCache, start: int, end: int, *, eager: bool
    ) -> Callable[[], SeriesGroup | None]:
        pieces = find_pieces(found.stream, self._blocks, start, end)
        if eager:
            return fetch_group(found, pieces, matches, start, end).load
        copies = [piece.copy() if isinstance(piece, Head) else piece for piece in pieces]
        return partial(read_group, found, copies, matches, start, end)

    def _open_stream(self, name: StreamName) -> Stream:
        stream = self._index.get(name.target, name.source)
        if stream is None:
            stream = Stream(name, self._layouts, self._head_limits, self._corruption_log)
            self._index.add(stream)
        return stream

    def _sync_if_needed(self) -> None:
        if self._log.waiting > MAX_UNSYNCED_BYTES:
            self._log.sync()

    def _forget_streams(self, streams: Iterable[Stream]) -> None:
        for stream in streams:
            self._appender.forget(stream)
            if not stream.name.framed:
                self._ungrouped.forget(stream)

    def _recover(self) -> None:
        recovery = Recovery(
            self._index, self._blocks, self._log, self._open_stream, self._delete_now, self._rollups
        )
        for damage in recovery.run():
            self._corruption_log.add(damage)
        for stream in self._index:
            if not stream.name.framed:
                self._ungrouped.restore(stream, self._newest_stored_layout(stream))
            if stream.number and stream.pieces:
                newest = stream.pieces[-1].layout
                stored = self._layouts.order_by_metric(newest)
                self._blocks.layouts.load_number(stored)
                newest.prepare()
                stored.prepare()

    def _newest_stored_layout(self, stream: Stream) -> Layout | None:
        newest = stream.spans.newest()
        try:
            return None if newest is None else self._blocks.layouts.layout(newest)
        except CorruptionError as error:
            self._corruption_log.add(str(error))
            return None

    def _delete_now(self, streams: Sequence[Stream], targets: Collection[Target]) -> None:
        with self._blocks.transaction():
            for stream in streams:
                self._blocks.delete_stream(stream.number)
        for stream in streams:
            self._index.remove(stream)
        self._rollups.forget(targets)
        self._rollups.delete_pending()

    def _check_writable(self) -> None:
        if self._is_forked:
            raise StoreError("this is a forked copy of the store, for reading only; write in its parent")


def _target(labels: Mapping[str, str]) -> Target:
    return tuple(sorted((name, value) for name, value in labels.items() if value))
