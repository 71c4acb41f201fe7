"""adjtimex(2), read-only; Python's library lacks it."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple


class Timex(NamedTuple):
    """Fields of struct timex, as the kernel returns them."""

    state: int
    offset: int
    freq: int
    maxerror: int
    esterror: int
    status: int
    constant: int
    tick: int
    ppsfreq: int
    jitter: int
    shift: int
    stabil: int
    jitcnt: int
    calcnt: int
    errcnt: int
    stbcnt: int
    tai: int


class _Struct(ctypes.Structure):
    # struct timex of <sys/timex.h> on 64-bit Linux; ctypes adds the padding after the ints.
    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("microseconds", ctypes.c_long),
        ("tick", ctypes.c_long),
        ("ppsfreq", ctypes.c_long),
        ("jitter", ctypes.c_long),
        ("shift", ctypes.c_int),
        ("stabil", ctypes.c_long),
        ("jitcnt", ctypes.c_long),
        ("calcnt", ctypes.c_long),
        ("errcnt", ctypes.c_long),
        ("stbcnt", ctypes.c_long),
        ("tai", ctypes.c_int),
        ("reserved", ctypes.c_int * 11),
    ]


_libc = ctypes.CDLL(None, use_errno=True)


def adjtimex() -> Timex:
    """Return the kernel's clock discipline, or raise OSError; some sandboxes forbid the call."""
    struct = _Struct(modes=0)
    state = _libc.adjtimex(ctypes.byref(struct))
    if state < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "adjtimex")
    return Timex(state, *(getattr(struct, name) for name in Timex._fields[1:]))
