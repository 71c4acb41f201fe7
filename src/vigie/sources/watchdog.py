"""Hardware watchdogs that reboot a hung machine, from /sys/class/watchdog."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge, info
from vigie.sources._attributes import read_label, read_measure
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

METRICS = (
    BOOT_STATUS := gauge(
        "node_watchdog_bootstatus", "Why the machine was last reset, as the driver's bits.", "name"
    ),
    FIRMWARE := gauge("node_watchdog_fw_version", "Version of the watchdog's firmware.", "name"),
    NO_WAY_OUT := gauge("node_watchdog_nowayout", "1 if it cannot be stopped once it runs.", "name"),
    TIME_LEFT := gauge("node_watchdog_timeleft_seconds", "Time left before it resets the machine.", "name"),
    TIMEOUT := gauge("node_watchdog_timeout_seconds", "Silence after which it resets the machine.", "name"),
    PRE_TIMEOUT := gauge("node_watchdog_pretimeout_seconds", "Warning time before the reset.", "name"),
    ACCESS := gauge("node_watchdog_access_cs0", "The driver's access_cs0 switch.", "name"),
    INFO := info(
        "node_watchdog_info",
        "Which watchdog it is, what it can do, and whether it runs.",
        *("name", "options", "identity", "state", "status", "pretimeout_governor"),
    ),
)

CLASS = "class/watchdog"
NUMBERS = (
    ("bootstatus", BOOT_STATUS),
    ("fw_version", FIRMWARE),
    ("nowayout", NO_WAY_OUT),
    ("timeleft", TIME_LEFT),
    ("timeout", TIMEOUT),
    ("pretimeout", PRE_TIMEOUT),
    ("access_cs0", ACCESS),
)
TEXTS = ("options", "identity", "state", "status", "pretimeout_governor")


def read(host: Host) -> Iterator[Sample]:
    """Yield every watchdog; a driver has only some of the files."""
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("no watchdog driver is loaded")
    known: dict[str, list[str]] = host.cache.get("files", {})
    files = host.cache["files"] = {
        name: known.get(name) or host.sys.list_names(f"{CLASS}/{name}") for name in names
    }
    for name in names:
        path, here = f"{CLASS}/{name}/", files[name]
        for file, metric in NUMBERS:
            if file in here:
                yield metric, (to_printable(name),), read_measure(host, path + file)
        if here:
            texts = (read_label(host, path + text) if text in here else "" for text in TEXTS)
            yield INFO, (to_printable(name), *texts), 1


SOURCE = Source("watchdog", METRICS, read)
