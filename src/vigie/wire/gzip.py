"""Compression of HTTP bodies."""

from __future__ import annotations

try:  # five times as fast as zlib at the same size; no wheels for rare architectures
    from isal import isal_zlib as zlib
except ImportError:
    import zlib  # type: ignore[no-redef]


def compress(body: bytes) -> bytes:
    """Compress at the fastest level."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(body) + packer.flush()
