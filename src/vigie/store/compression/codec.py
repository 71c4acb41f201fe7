"""Arrays to sealed bytes and back, lossless: codec, flag, checksum, content."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray
from pcodec import ChunkConfig, DeltaSpec, standalone  # type: ignore[import-untyped]

from vigie.model.nan import ABSENT_BITS
from vigie.store.compression.decimals import Integers, fill_floats, to_integers
from vigie.store.errors import CorruptionError

try:  # five times faster than zlib; no wheels for some processors
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

Floats = NDArray[np.float64]
Times = NDArray[np.int64]

ZLIB, PCODEC, DECIMAL, COLUMN_GROUP, ROLLUP = CODECS = (1, 2, 4, 8, 9)
DENSE = 1  # flag: no cell is absent
_SEAL = struct.Struct("<BBI")
MIN_COMPRESSED = 8  # shorter arrays are stored uncompressed
_FLOAT, _INTEGER = (
    b"f",
    b"i",
)  # first byte of uncompressed arrays; pcodec's own output starts with another byte
QUICK, THOROUGH = 6, 8  # 8 takes 50% longer than 6, for 2% fewer bytes
MIN_AUTO = 4096  # values from which letting pcodec choose between values and deltas costs little
_DELTA_CONFIGS = {
    level: ChunkConfig(compression_level=level, delta_spec=DeltaSpec.try_consecutive(1))
    for level in (QUICK, THOROUGH)
}
_PLAIN_CONFIGS = {
    level: ChunkConfig(compression_level=level, delta_spec=DeltaSpec.no_op()) for level in (QUICK, THOROUGH)
}
_AUTO_CONFIG = ChunkConfig(compression_level=THOROUGH)


def bits(values: Floats) -> NDArray[np.uint64]:
    """Return a view as integers: values are compared by their bits, never as floats."""
    return values.view(np.uint64)


def absent(values: Floats) -> NDArray[np.bool_]:
    """Return which cells hold no sample."""
    where: NDArray[np.bool_] = bits(values) == np.uint64(ABSENT_BITS)
    return where


def pack_floats(values: Floats, codec: int = PCODEC, level: int = THOROUGH) -> bytes:
    """Return the sealed bytes of an array."""
    values = np.ascontiguousarray(values).reshape(-1)
    flag = 0 if absent(values).any() else DENSE
    found = to_integers(values) if codec == PCODEC and flag and values.size else None
    if found is None:
        return _compress_values(values, codec, flag, level)
    whole, decimals = found
    return seal(DECIMAL, DENSE, bytes([decimals]) + _compress_pcodec(whole, level))


def compress(numbers: Floats | Integers, level: int) -> bytes:
    """Compress numbers without delta encoding; the caller seals the bytes."""
    if numbers.size <= MIN_COMPRESSED:
        kind = _FLOAT if numbers.dtype == np.float64 else _INTEGER
        return kind + numbers.tobytes() if numbers.size else b""
    return bytes(standalone.simple_compress(np.ascontiguousarray(numbers).reshape(-1), _PLAIN_CONFIGS[level]))


def decompress(content: bytes) -> Floats | Integers:
    if content[:1] == _FLOAT:
        return np.frombuffer(content, np.float64, offset=1)
    return decompress_integers(content)  # or floats: pcodec stores the type


def decompress_integers(content: bytes) -> Integers:
    if content[:1] == _INTEGER:
        return np.frombuffer(content, np.int64, offset=1)
    numbers: Integers = standalone.simple_decompress(content)
    return numbers


def unpack_floats(blob: bytes) -> Floats:
    codec, _, content = unseal(blob)
    if codec != DECIMAL:
        return _decompress_words(codec, content).view(np.float64)
    numbers = standalone.simple_decompress(content[1:])
    floats = np.empty(len(numbers))
    fill_floats(floats, numbers, decimals=content[0])
    return floats


def is_dense(blob: bytes) -> bool:
    """Report, without decompressing, whether every cell holds a sample."""
    return bool(blob[1] & DENSE)


def pack_times(times: Times, codec: int = PCODEC) -> bytes:
    """Return the sealed bytes of a column of times."""
    return _compress_values(np.ascontiguousarray(times), codec, 0, THOROUGH, noise=False)


def unpack_times(blob: bytes) -> Times:
    codec, _, content = unseal(blob)
    return _decompress_words(codec, content).view(np.int64)


def pack_text(text: str) -> bytes:
    return seal(ZLIB, 0, zlib.compress(text.encode(), 6))


def unpack_text(blob: bytes) -> str:
    _, _, content = unseal(blob)
    return zlib.decompress(content).decode()


def find_faults(blob: bytes) -> list[str]:
    """Return the defect of sealed bytes, empty if the checksum is right."""
    try:
        unseal(blob)
    except CorruptionError as error:
        return [str(error)]
    return []


def shuffle(words: NDArray[np.uint64]) -> bytes:
    """Transpose to byte planes: similar bytes next to each other compress better."""
    return words.view(np.uint8).reshape(-1, 8).T.tobytes()


def unshuffle(content: bytes) -> NDArray[np.uint64]:
    planes = np.frombuffer(content, np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view(np.uint64).reshape(-1)


def _compress_values(
    values: Floats | Times, codec: int, flag: int, level: int, *, noise: bool | None = None
) -> bytes:
    if codec == PCODEC and values.size:
        return seal(PCODEC, flag, _compress_pcodec(values, level, noise))
    return seal(ZLIB, flag, zlib.compress(shuffle(values.view(np.uint64)), 6))


def _compress_pcodec(values: Floats | Times, level: int, noise: bool | None = None) -> bytes:
    return bytes(standalone.simple_compress(values, _choose_config(values, level, noise)))


def _choose_config(values: Floats | Times, level: int, noise: bool | None) -> ChunkConfig:
    """Choose the encoding: pcodec's own choice tries all and takes four times as long."""
    if level == QUICK:
        return _DELTA_CONFIGS[QUICK]
    if noise is None:
        if len(values) >= MIN_AUTO:
            return _AUTO_CONFIG
        noise = _is_noise(values)
    return _PLAIN_CONFIGS[THOROUGH] if noise else _DELTA_CONFIGS[THOROUGH]


def _is_noise(values: Floats | Times) -> bool:
    """Report whether deltas are larger than distances from the mean."""
    with np.errstate(all="ignore"):
        numbers = values.astype(np.float64)
        deltas, spread = np.abs(np.diff(numbers)), np.abs(numbers - numbers.mean())
        return len(deltas) > 1 and bool(deltas.mean() > spread.mean())


def _decompress_words(codec: int, content: bytes) -> NDArray[np.uint64]:
    if codec == ZLIB:
        return unshuffle(zlib.decompress(content))
    words: NDArray[np.uint64] = standalone.simple_decompress(content).view(np.uint64)
    return words


def seal(codec: int, flag: int, content: bytes) -> bytes:
    """Prefix content with its codec, a flag and a checksum."""
    checksum = crc32(content, codec << 8 | flag)
    return _SEAL.pack(codec, flag, checksum) + content


def unseal(blob: bytes) -> tuple[int, int, bytes]:
    """Return codec, flag and content, or raise CorruptionError."""
    if len(blob) < _SEAL.size:
        raise CorruptionError(f"a blob of {len(blob)} bytes is too short to be one")
    codec, flag, checksum = _SEAL.unpack_from(blob)
    content = blob[_SEAL.size :]
    if crc32(content, codec << 8 | flag) != checksum:
        raise CorruptionError("a blob's checksum is wrong")
    if codec not in CODECS:
        raise CorruptionError(f"a blob has the unknown codec {codec}")
    return codec, flag, content


def absent_matrix(rows: int, columns: int) -> Floats:
    """Return a matrix without any sample."""
    return np.full((rows, columns), ABSENT_BITS, dtype=np.uint64).view(np.float64)
