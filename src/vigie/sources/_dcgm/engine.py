"""A connection to a DCGM engine with its own watches, which are removed at the end."""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Sequence
from ctypes import byref, c_char_p, c_double, c_int, c_longlong, c_uint, c_ushort
from typing import NamedTuple, Union

from vigie.sources._dcgm import abi
from vigie.sources._dcgm.library import DcgmError, DcgmLibrary

Reading = Union[float, str]  # a number, or the reason for its absence
SOCKET = "/tmp/nv-hostengine"  # noqa: S108 - where NVIDIA's host engine listens by default
ADDRESSES = (SOCKET, "127.0.0.1:5555")
CONNECT_MS = 1000
KEEP = 2  # samples
RETRY = 30.0  # seconds until a GPU that could not be watched is retried: a profiler may use it
SIMPLE = range(1001, 1013)  # what every GPU with counters can measure at once, by multiplexing


class FieldWatch(NamedTuple):
    """Fields watched on one GPU."""

    group: abi.Handle
    fields: abi.Handle


class Engine:
    """One client of an engine. Watches fields of the GPUs it is asked for."""

    def __init__(
        self, library: DcgmLibrary, handle: abi.Handle, interval: float, fields: Sequence[int]
    ) -> None:
        self._library, self._handle, self._interval = library, handle, interval
        self._fields = fields
        self._ids = self._identities()
        self._watches: dict[str, FieldWatch] = {}
        self.retry = RETRY
        self._failures: dict[str, tuple[float, str]] = {}  # time, reason

    def latest(self, uuids: Sequence[str]) -> dict[str, dict[int, Reading]]:
        """Return the latest value of each field of these GPUs, or the reason for its absence."""
        found: dict[str, dict[int, Reading]] = {}
        for uuid in uuids:
            why = self._ensure_watched(uuid)
            if why:
                found[uuid] = dict.fromkeys(self._fields, why)
            else:
                watch = self._watches[uuid]
                found[uuid] = dict(self._values(watch.group, watch.fields).get(self._ids[uuid], {}))
        return found

    def pause(self) -> None:
        """Stop the counters for every client of this engine, for a profiler."""
        self._library.call("dcgmProfPause", self._handle)

    def resume(self) -> None:
        """Resume the counters for every client of this engine."""
        self._library.call("dcgmProfResume", self._handle)

    def forget(self) -> None:
        """Remove our watches and groups from the engine."""
        for watch in self._watches.values():
            self._library.call("dcgmUnwatchFields", self._handle, watch.group, watch.fields)
            self._library.call("dcgmFieldGroupDestroy", self._handle, watch.fields)
            self._library.call("dcgmGroupDestroy", self._handle, watch.group)
        self._watches.clear()

    def _ensure_watched(self, uuid: str) -> str:
        """Watch a GPU unless it is watched. Return the reason if that fails."""
        since, why = self._failures.get(uuid, (0.0, ""))
        if uuid in self._watches or (why and time.monotonic() - since < self.retry):
            return why
        if uuid not in self._ids:
            return "unknown to DCGM"
        group = self._group(abi.GROUP_EMPTY, uuid)
        self._library.call("dcgmGroupAddEntity", self._handle, group, c_int(abi.GPU), c_uint(self._ids[uuid]))
        try:
            self._watches[uuid] = self._watch(group, uuid)
        except DcgmError as error:
            if error.code in abi.OVER:
                raise
            self._library.call("dcgmGroupDestroy", self._handle, group)
            self._failures[uuid] = time.monotonic(), str(error)
            return str(error)
        self._failures.pop(uuid, None)
        return ""

    def _watch(self, group: abi.Handle, uuid: str) -> FieldWatch:
        fields = self._field_group(self._fields, uuid)
        try:
            self._watch_fields(group, fields)
        except DcgmError as error:
            self._library.call("dcgmFieldGroupDestroy", self._handle, fields)
            fewer = [field for field in self._fields if field in SIMPLE]
            if error.code != abi.MULTI_PASS or len(fewer) == len(self._fields):
                raise
            fields = self._field_group(fewer, uuid)
            self._watch_fields(group, fields)
        return FieldWatch(group, fields)

    def _watch_fields(self, group: abi.Handle, fields: abi.Handle) -> None:
        every, age = c_longlong(int(self._interval * 1e6)), c_double(self._interval * (KEEP + 1))
        self._library.call("dcgmWatchFields", self._handle, group, fields, every, age, c_int(KEEP))

    def _identities(self) -> dict[str, int]:
        """Return the engine's GPU ids by UUID."""
        group, fields = self._group(abi.GROUP_ALL, "all"), self._field_group((abi.UUID,), "identity")
        self._watch_fields(group, fields)
        self._library.call("dcgmUpdateAllFields", self._handle, c_int(1))
        found = self._values(group, fields)
        self._library.call("dcgmUnwatchFields", self._handle, group, fields)
        self._library.call("dcgmFieldGroupDestroy", self._handle, fields)
        self._library.call("dcgmGroupDestroy", self._handle, group)
        return {str(values.get(abi.UUID, "")): gpu for gpu, values in found.items()}

    def _group(self, kind: int, name: str) -> abi.Handle:
        made = abi.Handle()
        self._library.call("dcgmGroupCreate", self._handle, c_int(kind), _name(name), byref(made))
        return made

    def _field_group(self, fields: Sequence[int], name: str) -> abi.Handle:
        made, ids = abi.Handle(), (c_ushort * len(fields))(*fields)
        self._library.call(
            "dcgmFieldGroupCreate", self._handle, c_int(len(fields)), ids, _name(name), byref(made)
        )
        return made

    def _values(self, group: abi.Handle, fields: abi.Handle) -> dict[int, dict[int, Reading]]:
        found: dict[int, dict[int, Reading]] = {}

        def take(
            kind: int, gpu: int, values: ctypes._Pointer[abi.DcgmFieldValue], count: int, _: object
        ) -> int:
            if kind == abi.GPU:
                found.setdefault(gpu, {}).update((values[i].fieldId, read(values[i])) for i in range(count))
            return 0

        callback = abi.Callback(take)
        self._library.call("dcgmGetLatestValues_v2", self._handle, group, fields, callback, None)
        return found


def read(value: abi.DcgmFieldValue) -> Reading:
    """Return the value of a field, or a reason. DCGM's blank values are not numbers."""
    if value.status:
        return str(DcgmError("dcgmGetLatestValues_v2", value.status)).partition(" (")[0]
    if value.fieldType == abi.TEXT:
        return str(value.value.str.decode(errors="replace"))
    if value.fieldType == abi.LONG:
        number = float(value.value.i64)
        blank = value.value.i64 - abi.BLANK_LONG
    else:
        number = value.value.dbl
        if not math.isfinite(number):
            return "DCGM returned no number"
        blank = int(number - abi.BLANK_DOUBLE)
    if blank < 0:
        return number
    return abi.BLANKS[blank] if blank < len(abi.BLANKS) else abi.BLANKS[0]


def connect(library: DcgmLibrary, addresses: Sequence[str]) -> abi.Handle:
    """Connect to the first engine that responds. Its watches end with the connection."""
    library.call("dcgmInit")
    why: DcgmError | None = None
    for address in addresses:
        parameters = abi.ConnectParams(
            version=abi.struct_version(abi.ConnectParams, 2),
            timeoutMs=CONNECT_MS,
            addressIsUnixSocket=address.startswith("/"),
        )
        handle = abi.Handle()
        try:
            library.call("dcgmConnect_v2", c_char_p(address.encode()), byref(parameters), byref(handle))
        except DcgmError as error:
            why = error
        else:
            return handle
    library.call("dcgmShutdown")
    raise why or DcgmError("dcgmConnect_v2", abi.CONNECTION_NOT_VALID)


def _name(what: str) -> c_char_p:
    return c_char_p(f"vigie-{os.getpid()}-{what}".encode())
