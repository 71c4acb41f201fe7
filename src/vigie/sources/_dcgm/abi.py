"""Constants and structures of DCGM 3 and 4, from NVIDIA's dcgm_structs.h and dcgm_fields.h."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_double, c_int, c_int64, c_size_t, c_uint, c_ushort, c_void_p

GROUP_ALL, GROUP_EMPTY = 0, 1  # dcgmGroupType_t
GPU = 1  # DCGM_FE_GPU
UUID = 54  # DCGM_FI_DEV_UUID
MODE_AUTO = 1  # the engine samples by itself
DOUBLE, LONG, TEXT = b"d"[0], b"i"[0], b"s"[0]  # dcgm field types

CONNECTION_NOT_VALID = -21
MULTI_PASS = -38
# Returned by a closed connection.
OVER = (-7, -10, CONNECTION_NOT_VALID)

BLANK_LONG = 0x7FFFFFFFFFFFFFF0
BLANK_DOUBLE = 140737488355328.0
BLANKS = ("no value yet", "not found", "not supported by this GPU", "no permission")


class ConnectParams(ctypes.Structure):
    """dcgmConnectV2Params_v2."""

    _fields_ = (
        ("version", c_uint),
        ("persistAfterDisconnect", c_uint),
        ("timeoutMs", c_uint),
        ("addressIsUnixSocket", c_uint),
    )


class DcgmValue(ctypes.Union):
    """The value of dcgmFieldValue_v1."""

    _fields_ = (("i64", c_int64), ("dbl", c_double), ("str", c_char * 256), ("blob", c_char * 4096))


class DcgmFieldValue(ctypes.Structure):
    """dcgmFieldValue_v1."""

    _fields_ = (
        ("version", c_uint),
        ("fieldId", c_ushort),
        ("fieldType", c_ushort),
        ("status", c_int),
        ("ts", c_int64),
        ("value", DcgmValue),
    )


# int callback(entityGroupId, entityId, values, numValues, userData)
Callback = ctypes.CFUNCTYPE(c_int, c_int, c_uint, ctypes.POINTER(DcgmFieldValue), c_int, c_void_p)
Handle = c_size_t  # of a connection, a GPU group, a field group


def struct_version(structure: type[ctypes.Structure], number: int) -> int:
    """Return the version number of a structure."""
    return ctypes.sizeof(structure) | number << 24
