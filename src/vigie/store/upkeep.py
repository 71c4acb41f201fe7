"""Moves what is in memory into blocks, removes what is too old, and drops the log behind it."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.store.blocks import Blocks
from vigie.store.chunk import Chunk, Piece, merge
from vigie.store.index import Index
from vigie.store.layout import Layouts
from vigie.store.retention import Retention, expire, forget
from vigie.store.stream import Stream
from vigie.store.wal import Log, segment_of

STREAMS_A_COMMIT = 500


class Upkeep:
    """The slow work of a store, done in commits of bounded size."""

    def __init__(
        self, index: Index, blocks: Blocks, log: Log, layouts: Layouts, retention: Retention
    ) -> None:
        self._index, self._blocks, self._log = index, blocks, log
        self._layouts, self._retention = layouts, retention

    def flush_all(self) -> None:
        """Write everything into blocks, and begin the log anew."""
        self._flush([(stream, list(stream.pieces)) for stream in self._index if stream.pieces])
        self._blocks.checkpoint()
        self._log.renew()
        self._drop_log()

    def maintain(self, now: int) -> list[Stream]:
        """Do what is due; return the streams of which nothing is left."""
        due = []
        for stream in self._index:
            stream.close_heads()
            if pieces := stream.due(now):
                due.append((stream, pieces))
        self._flush(due)
        gone = self._expire(now)
        self._drop_log()
        return gone

    def _flush(self, due: Sequence[tuple[Stream, list[Piece]]]) -> None:
        for first in range(0, len(due), STREAMS_A_COMMIT):
            some = due[first : first + STREAMS_A_COMMIT]
            with self._blocks.transaction():
                done = [(stream, pieces, *self._write(stream, pieces)) for stream, pieces in some]
            for stream, pieces, chunks, number, flushed in done:
                stream.number, stream.flushed = number, flushed
                stream.settled(pieces, chunks)
                self._index.renew(stream)

    def _write(self, stream: Stream, pieces: list[Piece]) -> tuple[list[Chunk], int, int]:
        chosen = {id(piece) for piece in pieces}
        stay = [piece.since for piece in stream.pieces if id(piece) not in chosen]
        flushed = min(stay, default=self._log.position)
        number = self._blocks.keep_stream(stream.name, flushed)
        chunks = [merge(self._layouts, run) for run in stream.runs(pieces, self._blocks)]
        for chunk in chunks:
            self._blocks.write(number, chunk)
        return chunks, number, flushed

    def _expire(self, now: int) -> list[Stream]:
        lost = expire(self._blocks, self._retention, now)
        gone = []
        for stream in list(self._index):
            forgotten = forget(stream, self._retention, now)
            if stream.number in lost:
                stream.respan(self._blocks.spans(stream.number))
            if forgotten or stream.number in lost:
                self._index.renew(stream)
                if not stream.pieces and not stream.spans:
                    gone.append(stream)
        self._remove(gone)
        if lost:
            self._blocks.shrink()
        return gone

    def _remove(self, gone: Sequence[Stream]) -> None:
        if gone:
            with self._blocks.transaction():
                for stream in gone:
                    self._blocks.remove_stream(stream.number)

    def _drop_log(self) -> None:
        oldest = min((since for stream in self._index if (since := stream.since) is not None), default=None)
        self._log.drop_before(segment_of(self._log.position if oldest is None else oldest))
