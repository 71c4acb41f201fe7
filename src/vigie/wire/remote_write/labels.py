"""Labels of a remote write TimeSeries, and a bounded cache of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Generic, TypeVar

from vigie.wire.remote_write.protobuf import BYTES, MalformedProtobufError, encode_varint, iter_fields

K = TypeVar("K")
V = TypeVar("V")
NAME = "__name__"
MAX_SERIES = 200_000
MAX_CACHE_BYTES = 64 << 20  # of encoded labels in a cache
MAX_LABELS = 64  # of a series
MAX_NAME_BYTES = 1024
MAX_VALUE_BYTES = 4096


class LruCache(Generic[K, V]):
    """Two generations, each of at most half the entries."""

    def __init__(self, max_entries: int) -> None:
        self.newer: dict[K, V] = {}
        self._older: dict[K, V] = {}
        self._half = max(1, max_entries // 2)

    def get(self, key: K) -> V | None:
        """Return the value and keep it for another generation."""
        found = self.newer.get(key)
        if found is None:
            found = self._older.get(key)
            if found is not None:
                self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        """Add an entry. When the newer generation is full, the older one is dropped."""
        if len(self.newer) >= self._half and key not in self.newer:
            self._start_generation()
        self.newer[key] = value

    def _start_generation(self) -> None:
        # Cleared in place, because callers keep a reference to the newer generation.
        self._older = dict(self.newer)
        self.newer.clear()


class InvalidLabelsError(Exception):
    """Well-formed labels that cannot name a series."""


class LabelCache(LruCache[bytes, Mapping[str, str]]):
    """Decoded labels by their encoded bytes."""

    def __init__(self, max_entries: int = MAX_SERIES) -> None:
        super().__init__(max_entries)
        self._bytes = 0  # of the newer generation

    def put(self, key: bytes, value: Mapping[str, str]) -> None:
        """Add labels; the cache is bounded in bytes, too."""
        if self._bytes + len(key) > MAX_CACHE_BYTES // 2:
            self._start_generation()
        self._bytes += len(key)
        super().put(key, value)

    def _start_generation(self) -> None:
        self._bytes = 0
        super()._start_generation()

    def labels(self, section: bytes) -> Mapping[str, str]:
        """Return the labels: the same object for the same bytes while cached."""
        found = self.get(section)
        if found is None:
            found = decode_labels(section)
            self.put(section, found)
        return found


def encode_labels(labels: Mapping[str, str]) -> bytes:
    """Return the labels as in a TimeSeries, sorted by name. Empty labels are omitted."""
    return b"".join(_encode_label(name, value) for name, value in sorted(labels.items()) if value)


def _encode_label(name: str, value: str) -> bytes:
    # A lone surrogate, possible in file names, has no UTF-8 encoding.
    key, text = name.encode("utf-8", "replace"), value.encode("utf-8", "replace")
    content = b"\x0a" + encode_varint(len(key)) + key + b"\x12" + encode_varint(len(text)) + text
    return b"\x0a" + encode_varint(len(content)) + content


def decode_labels(section: bytes) -> dict[str, str]:
    """Return the labels, or raise MalformedProtobufError or InvalidLabelsError."""
    found: dict[str, str] = {}
    for _, _, start, stop in iter_fields(section, 0, len(section)):
        name, value = _decode_label(section, start, stop)
        if len(found) >= MAX_LABELS:
            raise InvalidLabelsError(f"more than {MAX_LABELS} labels")
        if not name:
            raise InvalidLabelsError("label without a name")
        if name in found:
            raise InvalidLabelsError(f"duplicate label {name}")
        found[name] = value
    if not found.get(NAME):
        raise InvalidLabelsError(f"missing label {NAME}")
    return {name: found[name] for name in sorted(found) if found[name]}


def _decode_label(data: bytes, at: int, end: int) -> tuple[str, str]:
    pair = ["", ""]
    for number, wire, start, stop in iter_fields(data, at, end):
        if number <= 2:
            if wire != BYTES:
                raise MalformedProtobufError(f"field {number} of a label has wire type {wire}")
            if stop - start > (MAX_NAME_BYTES, MAX_VALUE_BYTES)[number - 1]:
                raise InvalidLabelsError(_too_long(number))
            try:
                pair[number - 1] = sys.intern(data[start:stop].decode())
            except UnicodeDecodeError:
                raise MalformedProtobufError("label is not UTF-8") from None
    return pair[0], pair[1]


def _too_long(number: int) -> str:
    if number == 1:
        return f"label name longer than {MAX_NAME_BYTES} bytes"
    return f"label value longer than {MAX_VALUE_BYTES} bytes"
