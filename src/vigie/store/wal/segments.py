"""Reads log segments: resynchronizes after damage, and decompresses ahead in a thread."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from vigie.store.errors import CorruptionError
from vigie.store.series.layout import Layout, Layouts
from vigie.store.wal.records import PlainRecord, WalDecoder, WalDeletion, WalRows, decompress_record

MAGIC = b"VIGLOG2\n"
MARK = b"\xf5vg\n"  # before every record, to find the next one after damage
LENGTH = struct.Struct("<I")
HEADER = struct.Struct("<4sII")  # mark, length of the payload, checksum of length and payload
SHIFT = 40  # a position is the segment number and, in the lower bits, the offset
BATCH_BYTES = 256 << 20  # bytes of plain records: about a segment, because the cost is per stream


class SegmentDamage(NamedTuple):
    path: Path
    offset: int
    lost: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: at byte {self.offset}, {self.lost} bytes lost: {self.reason}"


Batch = list[PlainRecord | SegmentDamage]


def segment_number(path: Path) -> int:
    return int(path.stem)


def replay_segment(
    paths: Sequence[Path], layouts: Layouts, damaged: list[SegmentDamage]
) -> Iterator[list[WalRows] | tuple[int, WalDeletion]]:
    """Yield the rows and deletions of segments; a thread reads and decompresses ahead."""
    texts: dict[bytes, Layout] = {}
    with ThreadPoolExecutor(1, thread_name_prefix="replay") as executor:
        for path in paths:
            decoder = WalDecoder(layouts, texts)
            batches = _read_batches(path)
            pending = executor.submit(next, batches, None)
            while (batch := pending.result()) is not None:
                pending = executor.submit(next, batches, None)
                yield from _decode(path, decoder, batch, damaged)
            if decoder.lost:
                damaged.append(SegmentDamage(path, 0, 0, f"{decoder.lost} rows hang on a damaged record"))


def _decode(
    path: Path, decoder: WalDecoder, batch: Batch, damaged: list[SegmentDamage]
) -> Iterator[list[WalRows] | tuple[int, WalDeletion]]:
    for record in batch:
        if isinstance(record, SegmentDamage):
            damaged.append(record)
            decoder.mark_gap()
            continue
        try:
            deletion = decoder.add(record)
        except CorruptionError as error:
            damaged.append(SegmentDamage(path, record.position & (1 << SHIFT) - 1, 0, str(error)))
            decoder.mark_gap()
            continue
        if deletion is not None:
            yield from decoder.drain()
            yield record.position, deletion
    yield from decoder.drain()


def _read_batches(path: Path) -> Iterator[Batch]:
    base = segment_number(path) << SHIFT
    batch: Batch = []
    size = 0
    for found in iter_records(path):
        if isinstance(found, SegmentDamage):
            batch.append(found)
            continue
        offset, payload = found
        try:
            record = decompress_record(base | offset, payload)
        except CorruptionError as error:
            batch.append(SegmentDamage(path, offset, len(payload), str(error)))
            continue
        batch.append(record)
        size += len(record.content)
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    yield batch


def iter_records(path: Path) -> Iterator[tuple[int, bytes] | SegmentDamage]:
    """Yield every intact record with its offset, and the damage between them."""
    content = path.read_bytes()
    if not content:
        return  # created and never written to
    at = len(MAGIC)
    if not content.startswith(MAGIC):
        yield SegmentDamage(path, 0, min(len(content), at), "it does not begin as a log does")
    while at < len(content):
        payload = _payload(content, at)
        if payload is not None:
            yield at, payload
            at += HEADER.size + len(payload)
            continue
        after = _find_next(content, at + 1)
        torn = after == len(content)
        reason = "the last record is torn or damaged" if torn else "a record is damaged"
        yield SegmentDamage(path, at, after - at, reason)
        at = after


def _payload(content: bytes, at: int) -> bytes | None:
    if at + HEADER.size > len(content):
        return None
    mark, length, checksum = HEADER.unpack_from(content, at)
    payload = content[at + HEADER.size : at + HEADER.size + length]
    if mark != MARK or len(payload) < length:
        return None
    return payload if zlib.crc32(payload, zlib.crc32(LENGTH.pack(length))) == checksum else None


def _find_next(content: bytes, at: int) -> int:
    while (at := content.find(MARK, at)) >= 0:
        if _payload(content, at) is not None:
            return at
        at += 1
    return len(content)
