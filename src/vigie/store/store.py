"""The embedded store of one machine: append, sync, select; what was synced survives."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

from vigie.model import Frame, Table
from vigie.query.storage import Group, Labels, Matcher
from vigie.store import lookup
from vigie.store.blocks import Blocks
from vigie.store.errors import Damaged, Refused
from vigie.store.index import Index, Matches, Target
from vigie.store.layout import NAME, Layouts
from vigie.store.lock import DirectoryLock, check_format
from vigie.store.loose import Loose, Samples
from vigie.store.reading import disjoint, pieces_of, read_group
from vigie.store.records import Deletion, Row, StreamName
from vigie.store.retention import Retention
from vigie.store.stream import Lengths, Stream
from vigie.store.tables import Shape, shape_of
from vigie.store.upkeep import Upkeep
from vigie.store.wal import SEGMENT_BYTES, Damage, Log, segment_of

log = logging.getLogger(__name__)

WRITE_AHEAD = 4 << 20  # bytes that wait at most before they go to the operating system
LATEST = 1 << 62
LENGTHS = Lengths()
RETENTION = Retention()


class Store:
    """Frames in, groups out; one lock, so that any thread may call."""

    def __init__(
        self,
        directory: Path | str,
        *,
        lengths: Lengths = LENGTHS,
        retention: Retention = RETENTION,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._guard = threading.RLock()
        self._lengths = lengths
        self._layouts = Layouts()
        self._index = Index()
        self._shapes: dict[Stream, Shape] = {}
        self._loose = Loose(self._layouts, self._stream)
        with ExitStack() as opened:
            opened.callback(DirectoryLock(self.directory).release)
            check_format(self.directory)
            self._blocks = Blocks(self.directory / "blocks.sqlite", self._layouts)
            opened.callback(self._blocks.close)
            self._log = Log(self.directory / "log", self._layouts, segment_bytes)
            self.damages = self._recover()
            opened.callback(self._log.close)
            self._opened = opened.pop_all()
        self._upkeep = Upkeep(self._index, self._blocks, self._log, self._layouts, retention)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Sync and let go of the directory; what is in memory is read back from the log next time."""
        with self._guard:
            self._opened.close()

    def append(self, node_labels: Labels, frame: Frame) -> None:
        """Take a frame of a target; a table's values that are there already for this time are left alone."""
        with self._guard:
            target = _target(node_labels)
            _check_time(frame.time_ms)
            rows: dict[Stream, Row] = {}
            for table, values in frame.parts:
                stream, shape = self._shape(target, table)
                row = Row(stream.name, shape.layout, frame.time_ms, shape.row(values))
                if not stream.holds(frame.time_ms, self._blocks):
                    rows.setdefault(stream, row)
            self._take(list(rows.items()))

    def append_series(self, series: Iterable[Samples]) -> None:
        """Take series with times of their own; a sample that is there already is left alone."""
        with self._guard:
            series = list(series)
            for samples in series:
                _check_samples(samples)
            places = self._loose.rows(series)
            self._take([(p.stream, Row(p.stream.name, p.layout, p.time, p.row)) for p in places])
            for stream in dict.fromkeys(place.stream for place in places):
                self._loose.judge(stream)

    def sync(self) -> None:
        """Return when everything appended before survives a kill and a power cut."""
        with self._guard:
            self._log.sync()

    def flush(self) -> None:
        """Write all that is in memory into blocks."""
        with self._guard:
            self._upkeep.flush_all()

    def maintain(self, now_ms: int) -> None:
        """Write blocks that are due, remove what is too old, drop old log; every ten seconds or so."""
        with self._guard:
            self._forget_streams(self._upkeep.maintain(now_ms))

    def delete(self, matchers: Sequence[Matcher]) -> int:
        """Delete every target whose own labels fit, with all it has; return how many there were."""
        with self._guard:
            if not matchers:
                raise Refused("name what to delete; no matchers would be everything")
            targets = self._index.targets(matchers)
            if targets:
                self._log.deletion(targets)
                self._log.sync()
                self._remove([stream for target in targets for stream in self._index.streams_of(target)])
            return len(targets)

    def check(self) -> list[str]:
        """Verify every checksum in log and blocks; return what is wrong, nothing if all is well."""
        with self._guard:
            _, damages = self._log.verify()
            return [str(damage) for damage in damages] + list(self._blocks.verify())

    def bytes_on_disk(self) -> tuple[int, int]:
        """Return the bytes of blocks and of log."""
        with self._guard:
            return self._blocks.size(), self._log.bytes_on_disk

    def select(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Group]:
        """Return the samples of every series that the matchers fit, each series in one group."""
        with self._guard:
            matches = Matches()
            groups: dict[Target, list[Group]] = {}
            for found in self._index.find(matchers):
                pieces = pieces_of(found.stream, self._blocks, start, end)
                group = read_group(found, pieces, matches, start, end)
                if group is not None:
                    groups.setdefault(found.stream.name.target, []).append(group)
            return _each_series_once(groups)

    def series(self, matchers: Sequence[Matcher], start: int, end: int) -> list[Labels]:
        """Return the label sets of series in chunks that reach into the time span."""
        with self._fits(matchers, start, end) as fits:
            return lookup.series(fits)

    def label_names(self, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted names of their labels."""
        with self._fits(matchers, start, end) as fits:
            return lookup.label_names(fits)

    def label_values(self, name: str, matchers: Sequence[Matcher], start: int, end: int) -> list[str]:
        """Return the sorted values of one of their labels."""
        with self._fits(matchers, start, end) as fits:
            return lookup.label_values(name, fits)

    @contextmanager
    def _fits(self, matchers: Sequence[Matcher], start: int, end: int) -> Iterator[Iterator[lookup.Fit]]:
        with self._guard:
            yield lookup.fits(self._index.find(matchers), start, end)

    def _shape(self, target: Target, table: Table) -> tuple[Stream, Shape]:
        stream = self._stream(StreamName(target, table.source, framed=True))
        shape = self._shapes.get(stream)
        if shape is None or shape.table is not table:
            if shape is None or shape.table != table:
                shape = shape_of(self._layouts, table, dict(target))
            shape = self._shapes[stream] = shape._replace(table=table)
        return stream, shape

    def _stream(self, name: StreamName) -> Stream:
        stream = self._index.get(name.target, name.source)
        if stream is None:
            stream = Stream(name, self._layouts, self._lengths)
            self._index.add(stream)
        return stream

    def _take(self, rows: Sequence[tuple[Stream, Row]]) -> None:
        if not rows:
            return
        position = self._log.rows([row for _, row in rows])
        for stream, row in rows:
            self._put(stream, row, position)
        if self._log.waiting > WRITE_AHEAD:
            self._log.write()

    def _put(self, stream: Stream, row: Row, position: int) -> None:
        stream.put(row.layout, row.time, row.values, position, self._blocks)
        self._index.note(stream, row.layout)

    def _remove(self, streams: Sequence[Stream]) -> None:
        with self._blocks.transaction():
            for stream in streams:
                self._blocks.remove_stream(stream.number)
        for stream in streams:
            self._index.remove(stream)
        self._forget_streams(streams)

    def _forget_streams(self, streams: Iterable[Stream]) -> None:
        for stream in streams:
            self._shapes.pop(stream, None)
            if not stream.name.framed:
                self._loose.forget(stream)

    def _recover(self) -> list[str]:
        """Load the blocks, replay the log; return what was damaged."""
        newest = self._load_blocks()
        cuts: list[Damage] = []
        unreadable: list[str] = []
        for position, record in self._log.replay(cuts):
            if isinstance(record, Deletion):
                self._delete_again(record, position)
            else:
                for row in record:
                    unreadable += self._put_again(row, position)
        for stream in self._index:
            if not stream.name.framed:
                for layout in [*stream.spans, *(piece.layout for piece in stream.pieces)]:
                    self._loose.adopt(stream, layout)
        self._log.start(newest + 1)
        damages = [*map(str, cuts), *self._blocks.damages, *unreadable]
        for damage in damages:
            log.warning("the store was damaged: %s", damage)
        return damages

    def _put_again(self, row: Row, position: int) -> list[str]:
        stream = self._stream(row.stream)
        try:
            if position >= stream.flushed:
                self._put(stream, row, position)
        except Damaged as error:
            return [f"a late frame of {dict(row.stream.target)} at {row.time} is lost: {error}"]
        return []

    def _load_blocks(self) -> int:
        """Make known what the blocks hold; return the newest log segment that they speak of."""
        by_number: dict[int, Stream] = {}
        for number, name, flushed in self._blocks.streams():
            stream = by_number[number] = self._stream(name)
            stream.number, stream.flushed = number, flushed
        for number, layout, start, end in self._blocks.spans():
            by_number[number].add_span(layout, start, end)
            self._index.note(by_number[number], layout)
        return max((segment_of(stream.flushed) for stream in by_number.values()), default=0)

    def _delete_again(self, record: Deletion, position: int) -> None:
        # What was flushed after the deletion was appended after it too.
        streams = [stream for target in record.targets for stream in self._index.streams_of(target)]
        self._remove([stream for stream in streams if stream.flushed <= position])


def _target(labels: Mapping[str, str]) -> Target:
    return tuple(sorted((name, value) for name, value in labels.items() if value))


def _check_time(time: int) -> None:
    if not -LATEST < time < LATEST:
        raise Refused(f"{time} is not a time in milliseconds")


def _check_samples(samples: Samples) -> None:
    if len(samples.times) != len(samples.values):
        raise Refused(f"{len(samples.times)} times came with {len(samples.values)} values")
    for time in samples.times:
        _check_time(time)


def _each_series_once(groups: Mapping[Target, list[Group]]) -> list[Group]:
    shapes = {tuple(name for name, _ in target) for target in groups}
    if len(shapes) > 1:  # a label may stand on the target here, and on the series there
        return disjoint(group for some in groups.values() for group in some)
    result: list[Group] = []
    for some in groups.values():
        result += disjoint(some) if len(some) > 1 and _share_names(some) else some
    return result


def _share_names(groups: Sequence[Group]) -> bool:
    names = [{labels[NAME] for labels in group.labels} for group in groups]
    return len(set().union(*names)) < sum(map(len, names))
