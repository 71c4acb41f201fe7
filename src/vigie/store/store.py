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
from vigie.store.filesystem import DiskSpace, SpaceLimits, SpaceMonitor, refuse_remote, space_of
from vigie.store.heads.head import Head
from vigie.store.heads.index import Index, StreamMatch
from vigie.store.heads.stream import LENGTHS, HeadLimits, Stream
from vigie.store.heads.ungrouped import Samples, UngroupedSeries
from vigie.store.maintenance import Maintenance
from vigie.store.malloc_trim import MallocTrim
from vigie.store.read import lookup
from vigie.store.read.chunk_cache import ChunkCache
from vigie.store.read.cost_estimate import estimate_samples
from vigie.store.read.group_reader import fetch_group, pieces_of, read_group
from vigie.store.read.lookup import Lookup
from vigie.store.read.scan import Scan
from vigie.store.read.transaction import ReadTransaction
from vigie.store.recovery import Recovery
from vigie.store.retention import Retention
from vigie.store.rollups.rollups import RollupStore
from vigie.store.series.cardinality import Pairs, pairs_of
from vigie.store.series.layout import BANDS, Layout, Layouts, Target
from vigie.store.series.match_cache import MatchCache
from vigie.store.wal.records import StreamName, WalRow, check_time
from vigie.store.wal.wal import SEGMENT_BYTES, WriteAheadLog

log = logging.getLogger(__name__)

WRITE_AHEAD = 64 << 20  # bytes of unsynced values at which an append syncs
ANY = 1 << 62
RETENTION = Retention()
ROOM = SpaceLimits()


class Store:
    """Thread-safe; only sync, flush and maintain wait for the disk."""

    def __init__(
        self,
        directory: Path | str,
        *,
        lengths: HeadLimits = LENGTHS,
        retention: Retention = RETENTION,
        segment_bytes: int = SEGMENT_BYTES,
        room: SpaceLimits = ROOM,
        space: Callable[[Path], DiskSpace] = space_of,
        warn: Callable[[str], None] = log.warning,
        allow_remote: bool = False,
    ) -> None:
        self.directory = Path(directory)
        if not allow_remote:
            refuse_remote(self.directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._gauge = SpaceMonitor(self.directory, room, space, warn)
        self._gauge.look()
        retention = retention.within(space(self.directory).total)
        self._guard = threading.RLock()
        self._lengths = lengths
        self._damages = CorruptionLog()
        self._index = Index()
        self._unpacked = ChunkCache()
        with ExitStack() as opened:
            self._lock = DirectoryLock(self.directory)
            opened.callback(self._lock.release)
            self._layouts = Layouts(BANDS[check_format(self.directory)])
            self._loose = UngroupedSeries(self._layouts, self._stream)
            self._blocks = open_or_repair(
                self.directory / "blocks.sqlite", self._layouts, self._damages, lengths.kept_series
            )
            opened.callback(self._blocks.close)
            self._rollups = RollupStore(
                self.directory,
                self._layouts,
                self._index,
                self._fetch_raw,
                self._damages,
                retention.max_bytes,
                lambda: self._log.position,
            )
            opened.callback(self._rollups.close)
            self._log = WriteAheadLog(self.directory / "log", self._layouts, segment_bytes, self._guard)
            self._blocks.database.read_ahead()
            self._recover()
            opened.callback(self._log.close)
            self._opened = opened.pop_all()
        self._intake = Appender(
            self._layouts, self._stream, self._index, self._blocks, self._rollups, self._log, self._gauge
        )
        self._is_copy = False
        self._calm = ReadTransaction(self._guard, self._blocks.database)
        self._spare = MallocTrim()
        self._upkeep = Maintenance(
            self._guard,
            self._index,
            self._blocks,
            self._log,
            self._layouts,
            lengths,
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
        self._check_own()
        self._opened.close()

    def append(self, node_labels: Labels, frame: Frame) -> None:
        """Append a frame of a target; values already stored for this time are not replaced."""
        self._check_own()
        with self._guard:
            target = _target(node_labels)
            check_time(frame.time_ms)
            if frame.parts:
                self._intake.append(target, frame)
        self._sync_if_much_waits()

    def append_series(self, series: Iterable[Samples]) -> None:
        """Append series with their own times; existing samples are not replaced."""
        self._check_own()
        with self._guard:
            places = self._loose.rows(list(series))
            self._intake.take([(p.stream, WalRow(p.stream.name, p.layout, p.time, p.row)) for p in places])
            for stream in dict.fromkeys(place.stream for place in places):
                self._loose.judge(stream)
        self._sync_if_much_waits()

    def sync(self) -> None:
        """Return when everything appended before is durable."""
        self._check_own()
        self._log.sync()

    def flush(self) -> None:
        """Write everything in memory into blocks."""
        self._check_own()
        self._upkeep.flush_all()

    def maintain(self, now_ms: int) -> None:
        """Write chunks that are due, apply retention, drop old log segments; call about every ten seconds."""
        self._check_own()
        self._gauge.look()
        self._upkeep.pace.begin()
        self._upkeep.pace.give_way()
        try:  # before raw data expire
            self._rollups.maintain(now_ms, self._guard, self._upkeep.turn, self._upkeep.pace)
        finally:  # otherwise memory and log would grow while rollups fail
            self._upkeep.maintain(now_ms)
        self._spare.give_back(now_ms)

    def end_upkeep(self) -> None:
        """Let maintenance in another thread end soon, and start no more."""
        self._upkeep.pace.end()

    def asked(self) -> AbstractContextManager[None]:
        """Let maintenance yield while a query runs in this process."""
        return self._upkeep.pace.asked()

    def delete(self, matchers: Sequence[Matcher]) -> int:
        """Delete every target whose labels match, with all its data; return their number."""
        self._check_own()
        if not matchers:
            raise InvalidInputError("name what to delete; no matchers would be everything")
        with self._guard:
            targets = list(dict.fromkeys([*self._index.targets(matchers), *self._rollups.targets(matchers)]))
            streams = [stream for target in targets for stream in self._index.streams_of(target)]
            if targets:
                self._log.deletion(targets)
            for stream in streams:
                self._index.remove(stream)
            self._forget_streams(streams)
            self._rollups.forget(targets)
            self._upkeep.doom(streams)
        self._log.sync()
        self._upkeep.remove()
        return len(targets)

    @property
    def damages(self) -> list[str]:
        """Return what was found damaged so far, on opening or while reading."""
        return list(self._damages)

    def series_count(self) -> int:
        """Return the approximate number of live series: those of the newest rows in memory."""
        return sum(len(layout) for _, layout in self._live())

    def live_pairs(self) -> Pairs:
        """Return the number of live series per label pair."""
        return pairs_of(self._live())

    def _live(self) -> list[tuple[Target, Layout]]:
        with self._guard:
            live = [(stream, self._intake.layout(stream)) for stream in self._index if stream.pieces]
            return [(stream.name.target, layout or stream.pieces[-1].layout) for stream, layout in live]

    def check(self) -> list[str]:
        """Verify every checksum in log and blocks; return the defects."""
        self._check_own()
        self._log.sync()
        return [*verify_log(self.directory / "log"), *self._blocks.verify(), *self._rollups.verify()]

    def bytes_on_disk(self) -> tuple[int, int]:
        """Return the bytes of blocks, including rollups, and of the log."""
        self._log.sync()
        with self._blocks.database.writing:  # no thread may be inside SQLite when a child is forked
            blocks = self._blocks.size()
        return blocks + self._rollups.size(), self._log.bytes_on_disk

    @contextmanager
    def still(self) -> Iterator[None]:
        """Hold every lock of the store, so that a process can be forked inside."""
        database = self._blocks.database
        with (
            database.writing,  # a commit is slow, so the store's lock comes after these
            self._rollups.unwritten(),
            self._guard,
            database.reading,
            self._rollups.unread(),
            database.births.expected(),
        ):
            yield

    def reborn(self) -> None:
        """Continue in a child that was forked inside `fork_lock`: it can read, and never writes.

        The child must keep the inherited files of the data directory open.
        """
        self._is_copy = True
        self._guard = threading.RLock()
        self._rollups.reborn()
        self._blocks.reborn()
        self._unpacked.reborn()
        self._calm = ReadTransaction(self._guard, self._blocks.database)
        self._lock.release()  # the parent still holds it; a child that outlives it must not

    def weight(self, matchers: Sequence[Matcher], start: int, end: int, enough: int = ANY) -> int:
        """Return the approximate number of samples a selection would read, or any number above `enough`."""
        return estimate_samples(self._guard, self._index, self._blocks, matchers, start, end, enough)

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[SeriesGroup]:
        """Return the samples of every matching series, each series in one group."""
        return [group for load in self.scan(matchers, start, end) if (group := load()) is not None]

    def scan(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Load]:
        """Yield functions that read the same groups one by one, in any thread."""
        return Scan(self._calm, self._index, self._blocks, start, end, self._unpacked).loads(matchers)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of series with chunks in the time range."""
        return lookup.series(self._lookups(matchers, start, end))

    def some_series(self, matchers: Sequence[Matcher], start: int, end: int, most: int) -> list[Labels]:
        """Return at most `limit` of these label sets."""
        return lookup.series(self._lookups(matchers, start, end), most)

    def few_series(self, matchers: Sequence[Matcher], start: int, end: int, most: int) -> list[Labels] | None:
        """Return these label sets, or None if there are more than `limit`."""
        found = self.some_series(matchers, start, end, most + 1)
        return found if len(found) <= most else None

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return their sorted label names."""
        return lookup.label_names(self._lookups(matchers, start, end))

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of one of their labels."""
        return lookup.label_values(name, self._lookups(matchers, start, end))

    def _lookups(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Lookup]:
        asked = [(self._index, self._blocks)]
        if start < self._rollups.raw_since:
            asked += [(tier.index, tier.blocks) for tier in self._rollups.tiers]
        with self._guard:
            found = [(index, list(index.find(matchers)), blocks) for index, blocks in asked]
        return [Lookup(*each, self._calm, start, end) for each in found]

    def raw_since(self) -> int:
        """Return the time from which on all raw samples are kept."""
        return self._rollups.raw_since

    def rollup_widths(self) -> list[int]:
        """Return the bucket widths, finest first."""
        return [tier.kind.width for tier in self._rollups.tiers]

    def rolled_since(self, width: int) -> int:
        """Return how far back buckets of this width go."""
        with self._guard:
            return self._rollups.since(width)

    def rollups(
        self, matchers: Sequence[Matcher], start: int, end: int, width: int, fields: Collection[str]
    ) -> Iterator[RollupGroup]:
        """Yield the buckets of matching series between two multiples of the width."""
        return self._rollups.groups(self._calm, matchers, start, end, width, fields)

    def _fetch_raw(
        self, found: StreamMatch, matches: MatchCache, start: int, end: int, *, prompt: bool
    ) -> Callable[[], SeriesGroup | None]:
        pieces = pieces_of(found.stream, self._blocks, start, end)
        if prompt:
            return fetch_group(found, pieces, matches, start, end).load
        still = [piece.copy() if isinstance(piece, Head) else piece for piece in pieces]
        return partial(read_group, found, still, matches, start, end)

    def _stream(self, name: StreamName) -> Stream:
        stream = self._index.get(name.target, name.source)
        if stream is None:
            stream = Stream(name, self._layouts, self._lengths, self._damages)
            self._index.add(stream)
        return stream

    def _sync_if_much_waits(self) -> None:
        if self._log.waiting > WRITE_AHEAD:
            self._log.sync()

    def _forget_streams(self, streams: Iterable[Stream]) -> None:
        for stream in streams:
            self._intake.forget(stream)
            if not stream.name.framed:
                self._loose.forget(stream)

    def _recover(self) -> None:
        recovery = Recovery(
            self._index, self._blocks, self._log, self._stream, self._remove_at_once, self._rollups
        )
        for damage in recovery.run():
            self._damages.add(damage)
        for stream in self._index:
            if not stream.name.framed:
                self._loose.adopt(stream, self._newest_stored(stream))
            if stream.number and stream.pieces:
                newest = stream.pieces[-1].layout
                stored = self._layouts.ordered(newest)
                self._blocks.layouts.recognise(stored)
                newest.prepare()
                stored.prepare()

    def _newest_stored(self, stream: Stream) -> Layout | None:
        newest = stream.spans.newest()
        try:
            return None if newest is None else self._blocks.layouts.layout(newest)
        except CorruptionError as error:
            self._damages.add(str(error))
            return None

    def _remove_at_once(self, streams: Sequence[Stream], targets: Collection[Target]) -> None:
        with self._blocks.transaction():
            for stream in streams:
                self._blocks.remove_stream(stream.number)
        for stream in streams:
            self._index.remove(stream)
        self._rollups.forget(targets)
        self._rollups.remove_doomed()

    def _check_own(self) -> None:
        if self._is_copy:
            raise StoreError("this is a forked copy of the store, for reading only; write in its parent")


def _target(labels: Mapping[str, str]) -> Target:
    return tuple(sorted((name, value) for name, value in labels.items() if value))
