"""The series of a table as bytes of a request: labels are written once, times and values patched in."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence

from vigie.wire.remote_write.protobuf import decode_varint, encode_varint

TIME = 0x10  # the field of a sample's time, behind its value


class SeriesTemplate:
    """One sample of each series, all of one time."""

    def __init__(self, sections: Iterable[bytes], time: int) -> None:
        self._digits = len(encode_varint(time))
        self._patch = struct.Struct(f"<dB{self._digits}s")
        blank = b"\x12" + bytes([10 + self._digits]) + b"\x09" + bytes(self._patch.size)
        body = bytearray()
        self._starts, self._values = array("Q", [0]), array("Q")
        for section in sections:
            body += b"\x0a" + encode_varint(len(section) + len(blank)) + section + blank
            self._starts.append(len(body))
            self._values.append(len(body) - self._patch.size)
        self._body, self._blank = body, len(blank)

    def __len__(self) -> int:
        return len(self._values)

    def fits(self, time: int) -> bool:
        """Tell whether a time has as many bytes as the one it was made for."""
        return len(encode_varint(time)) == self._digits

    def sections(self) -> Iterator[bytes]:
        """Yield the labels of each series again."""
        for start, stop in zip(self._starts, self._starts[1:], strict=False):
            _, digits = decode_varint(bytes(self._body[start + 1 : start + 11]), 0, 10)
            yield bytes(self._body[start + 1 + digits : stop - self._blank])

    def filled(self, time: int, values: Sequence[float], without: Sequence[int] = ()) -> bytes:
        """Return the series with these values, but for those whose places are left out, in rising order."""
        when, patch, body = encode_varint(time), self._patch.pack_into, self._body
        for place, value in zip(self._values, values, strict=True):
            patch(body, place, value, TIME, when)
        if not without:
            return bytes(body)
        starts = [0, *(self._starts[i + 1] for i in without)]
        stops = [*(self._starts[i] for i in without), len(body)]
        return b"".join([body[start:stop] for start, stop in zip(starts, stops, strict=True)])
