"""PyTorch's flight recorder: the last collectives of each rank, and which rank has not called the next."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MAX_DUMP_BYTES = 256 * 1024 * 1024


class FlightRecorderError(Exception):
    """The dump cannot be read; the message says why."""


class CollectiveEntry(msgspec.Struct):
    """One collective that a rank has enqueued."""

    sequence: int
    name: str
    state: str
    sizes: str
    is_retired: bool


class FlightRecord(msgspec.Struct):
    """What one rank's dump says of one process group."""

    group: str
    last_enqueued: int
    last_completed: int
    entries: dict[int, CollectiveEntry]


class _PlainUnpickler(pickle.Unpickler):
    """Dumps hold plain containers only; whatever wants a class or function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise FlightRecorderError(f"the dump names {module}.{name}: it is not PyTorch's")


def decode_dump(data: bytes) -> dict[str, FlightRecord]:
    """Return the process groups of a dump, JSON or pickle."""
    if len(data) > MAX_DUMP_BYTES:
        raise FlightRecorderError(f"the dump is larger than {MAX_DUMP_BYTES >> 20} MiB")
    dump = _load(data)
    if not isinstance(dump, dict):
        raise FlightRecorderError("the dump is no record of collectives")
    statuses = dump.get("pg_status")
    entries = dump.get("entries")
    groups: dict[str, FlightRecord] = {}
    for group, status in (statuses if isinstance(statuses, dict) else {}).items():
        if isinstance(status, dict):
            groups[str(group)] = FlightRecord(
                str(group),
                _as_int(status.get("last_enqueued_collective")),
                _as_int(status.get("last_completed_collective")),
                _decode_entries(entries if isinstance(entries, list) else [], str(group)),
            )
    return groups


def describe_collectives(ranks: Mapping[int, Mapping[str, FlightRecord]]) -> str:
    """Return which rank holds up the others, group by group; empty where nothing is wrong."""
    sentences = []
    for group in sorted({name for records in ranks.values() for name in records}):
        records = {rank: found[group] for rank, found in ranks.items() if group in found}
        if sentence := _describe_group(records):
            sentences.append(sentence)
    return " ".join(sentences)


def _describe_group(records: Mapping[int, FlightRecord]) -> str:
    newest = max(record.last_enqueued for record in records.values())
    behind = sorted(rank for rank, record in records.items() if record.last_enqueued < newest)
    if behind:
        missing = min(records[rank].last_enqueued for rank in behind) + 1
        names = [r.entries[missing].name for r in records.values() if missing in r.entries]
        what = f"{names[0]} (collective {missing})" if names else f"collective {missing}"
        ranks = ", ".join(map(str, behind[:8]))
        return f"Rank {ranks} has not called {what}; the others wait for it."
    return _describe_mismatch(records, newest)


def _describe_mismatch(records: Mapping[int, FlightRecord], newest: int) -> str:
    calls: dict[tuple[str, str], list[int]] = {}
    for rank, record in records.items():
        if newest in record.entries:
            entry = record.entries[newest]
            calls.setdefault((entry.name, entry.sizes), []).append(rank)
    if len(calls) < 2:
        return ""
    (name, sizes), odd = min(calls.items(), key=lambda item: len(item[1]))
    return (
        f"Collective {newest} differs: rank {', '.join(map(str, odd[:8]))} called {name} with sizes {sizes}."
    )


def _load(data: bytes) -> object:
    if data[:1] in (b"{", b" ", b"\n"):
        try:
            return msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise FlightRecorderError("the dump is damaged") from None
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except FlightRecorderError:
        raise
    except Exception:  # noqa: BLE001 - a damaged pickle raises whatever it stumbles over
        raise FlightRecorderError("the dump is damaged") from None


def _decode_entries(entries: Sequence[object], group: str) -> dict[int, CollectiveEntry]:
    decoded = {}
    for entry in entries:
        if not isinstance(entry, dict) or str(entry.get("pg_id", "")) != group or entry.get("is_p2p"):
            continue
        sequence = _as_int(entry.get("collective_seq_id"))
        decoded[sequence] = CollectiveEntry(
            sequence,
            str(entry.get("profiling_name", ""))[:200],
            str(entry.get("state", ""))[:40],
            str(entry.get("input_sizes", ""))[:200],
            bool(entry.get("retired")),
        )
    return decoded


def _as_int(value: object) -> int:
    """Numbers are strings in the JSON form; -1 is none yet."""
    if isinstance(value, int):
        return value
    text = str(value)
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 19 else -1
