"""AMD GPUs, from AMD's Python package amdsmi if installed: what sysfs lacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vigie.model import Sample, counter, gauge
from vigie.sources import _gpu
from vigie.sources._amdgpu_cards import NO_CARD, AmdCard, find_cards, is_suspended
from vigie.sources._amdsmi import AmdsmiError, AmdsmiSession
from vigie.sources._gpu import GPU
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

METRICS = (
    *(_gpu.PROCESSES, _gpu.PROCESS_MEMORY, _gpu.THROTTLED),
    ENERGY := counter("vigie_amdgpu_energy_joules_total", "Energy used since the driver was loaded.", *GPU),
    XGMI_READ := counter("vigie_amdgpu_xgmi_read_bytes_total", "Bytes read over an xGMI link.", *GPU, "link"),
    XGMI_WRITTEN := counter(
        "vigie_amdgpu_xgmi_write_bytes_total", "Bytes written over an xGMI link.", *GPU, "link"
    ),
    BAD_PAGES := gauge("vigie_amdgpu_bad_pages", "Bad memory pages, by state.", *GPU, "state"),
)

MAX_PROCESSES = 128  # per GPU
PAGE_STATES = ("reserved", "pending", "unreservable")  # by amdsmi's number
NO_PAGES = "No bad pages found."  # instead of an empty list, before ROCm 6
# In firmware ticks since the driver was loaded, on MI300 and newer; not in sysfs.
THROTTLE_REASONS = (
    ("prochot_residency_acc", "prochot_thermal"),
    ("ppt_residency_acc", "power_cap"),
    ("socket_thm_residency_acc", "socket_thermal"),
    ("vr_thm_residency_acc", "vr_thermal"),
    ("hbm_thm_residency_acc", "memory_thermal"),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the metrics of each card that is not suspended."""
    found = find_cards(host)
    if not found:
        raise Unavailable(NO_CARD)
    awake = [card for card in found if not is_suspended(host, card)]
    if len(awake) < len(found) and "session" not in host.cache:
        raise Unavailable("a card is suspended, and AMD's library would resume it")
    session = _open_session(host)
    for card in awake:
        for read_some in (_read_processes, _read_energy, _read_metrics, _read_bad_pages):
            try:
                yield from read_some(session, card)
            except AmdsmiError as why:  # noqa: PERF203 - an answer that cannot be had or read costs only itself
                host.note(f"GPU {card.labels[0]}, {why.function}", why)
            except (AttributeError, KeyError, TypeError) as error:
                host.note(f"GPU {card.labels[0]}, {read_some.__name__}", f"unexpected structure: {error!r}")
    if session.is_dead():
        _close_session(host)


def _open_session(host: Host) -> AmdsmiSession:
    if "session" not in host.cache:
        host.cache["session"] = AmdsmiSession(host.calls.amdsmi)
        host.on_close[:] = [lambda: _close_session(host)]  # which may be the second or third
    session: AmdsmiSession = host.cache["session"]
    return session


def _close_session(host: Host) -> None:
    session = host.cache.pop("session", None)
    if session:
        session.close()


def _read_processes(session: AmdsmiSession, card: AmdCard) -> Iterator[Sample]:
    listed = session.call("amdsmi_get_gpu_process_list", card.address)
    held = {}
    for process in listed:
        if not isinstance(process, dict):
            why = "this version lists processes without their memory: ROCm 6.1 or later is required"
            raise AmdsmiError("amdsmi_get_gpu_process_list", why)
        memory = process.get("memory_usage", {}).get("vram_mem")
        if memory != 0:  # processes of any GPU are listed for each
            held[str(process["pid"])] = _parse_number(memory)
    yield _gpu.PROCESSES, card.labels, len(held)
    for pid in list(held)[:MAX_PROCESSES]:
        yield _gpu.PROCESS_MEMORY, (*card.labels, pid, ""), held[pid]


def _read_energy(session: AmdsmiSession, card: AmdCard) -> Iterator[Sample]:
    told = session.call("amdsmi_get_energy_count", card.address)
    ticks = _parse_number(told.get("energy_accumulator", told.get("power")))  # the second before ROCm 6.1
    microjoules = _parse_number(told.get("counter_resolution"))
    if ticks is None or not microjoules:
        raise AmdsmiError("amdsmi_get_energy_count", "not a number")
    yield ENERGY, card.labels, ticks * microjoules / 1e6


def _read_metrics(session: AmdsmiSession, card: AmdCard) -> Iterator[Sample]:
    told = session.call("amdsmi_get_gpu_metrics_info", card.address)
    for key, metric in (("xgmi_read_data_acc", XGMI_READ), ("xgmi_write_data_acc", XGMI_WRITTEN)):
        amounts = told.get(key)
        for link, kilobytes in enumerate(amounts if isinstance(amounts, list) else ()):
            amount = _parse_number(kilobytes)
            yield metric, (*card.labels, str(link)), None if amount is None else amount * 1024
    for key, reason in THROTTLE_REASONS:
        ticks = _parse_number(told.get(key))
        then = session.before.pop((card.address, key), None)
        if ticks is not None:
            session.before[card.address, key] = ticks
            yield _gpu.THROTTLED, (*card.labels, reason), None if then is None else int(ticks > then)


def _read_bad_pages(session: AmdsmiSession, card: AmdCard) -> Iterator[Sample]:
    pages = session.call("amdsmi_get_gpu_bad_page_info", card.address)
    states = [] if pages == NO_PAGES else [_get_page_state(page["status"]) for page in pages]
    for state in PAGE_STATES:
        yield BAD_PAGES, (*card.labels, state), states.count(state)


def _get_page_state(status: Any) -> str:
    if isinstance(status, int) and 0 <= status < len(PAGE_STATES):
        return PAGE_STATES[status]
    return str(status).rpartition("_")[2].lower()


def _parse_number(value: Any) -> float | None:
    """Return the number, or None for the package's missing values: a text, or all bits set."""
    sensible = isinstance(value, (int, float)) and 0 <= value < (1 << 64) - 1
    return value if sensible else None


SOURCE = Source("amdsmi", METRICS, read, slow=True, every=30)
