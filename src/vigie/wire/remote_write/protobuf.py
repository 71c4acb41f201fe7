"""The part of protobuf's wire format that remote write needs: varints and length-delimited fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
WORD = 0xFFFF_FFFF_FFFF_FFFF


class MalformedProtobufError(Exception):
    """Invalid protobuf; the message says what and where."""


@lru_cache(maxsize=1024)  # lengths are small, and the samples of a frame share one timestamp
def encode_varint(number: int) -> bytes:
    """Encode an unsigned, or in two's complement a negative, 64-bit number."""
    number &= WORD
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def decode_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the unsigned 64-bit number at an offset, and the offset after it."""
    number = shift = 0
    for place in range(at, min(end, at + 10)):
        byte = data[place]
        number |= (byte & 127) << shift
        if byte < 128:
            if number > WORD:
                break
            return number, place + 1
        shift += 7
    raise MalformedProtobufError(f"byte {at}: unterminated varint, or longer than 64 bits")


def to_signed(number: int) -> int:
    """Return the signed value of an unsigned 64-bit number."""
    return number - (WORD + 1) if number >> 63 else number


def iter_fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, wire type, start and end of each field."""
    while at < end:
        # Fast path: most fields have a one-byte tag and a one-byte length.
        if at + 2 <= end and 7 < data[at] < 128 and data[at] & 7 == BYTES and data[at + 1] < 128:
            start = at + 2
            stop = start + data[at + 1]
            if stop <= end:
                yield data[at] >> 3, BYTES, start, stop
                at = stop
                continue
        tag, start = decode_varint(data, at, end)
        wire = tag & 7
        if wire == BYTES:
            length, start = decode_varint(data, start, end)
            stop = start + length
        elif wire == VARINT:
            _, stop = decode_varint(data, start, end)
        elif wire in (FIXED64, FIXED32):
            stop = start + (8 if wire == FIXED64 else 4)
        else:
            raise MalformedProtobufError(f"byte {at}: unknown wire type {wire}")
        if not tag >> 3:
            raise MalformedProtobufError(f"byte {at}: field number 0")
        if stop > end:
            raise MalformedProtobufError(
                f"byte {at}: field of {stop - start} bytes, but only {end - start} are left"
            )
        yield tag >> 3, wire, start, stop
        at = stop
