"""Units of systemd and their states, from the system D-Bus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from vigie.model import Metric, Sample, counter, gauge, info
from vigie.sources._attributes import compile_option
from vigie.sources.core.dbus import BusCall
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable, check_regex

METRICS = (
    STATE := gauge(
        "node_systemd_unit_state", "1 for the state that the unit is in.", "name", "state", "type"
    ),
    STARTED := gauge("node_systemd_unit_start_time_seconds", "When the unit became active.", "name"),
    TASKS := gauge("node_systemd_unit_tasks_current", "Tasks of the service.", "name"),
    MOST_TASKS := gauge("node_systemd_unit_tasks_max", "Tasks that the service may have.", "name"),
    RUNNING := gauge("node_systemd_system_running", "1 if the system is up and no unit has failed."),
    UNITS := gauge("node_systemd_units", "Units in each state.", "state"),
    RESTARTS := counter("node_systemd_service_restart_total", "Restarts of the service.", "name"),
    TRIGGERED := gauge("node_systemd_timer_last_trigger_seconds", "When the timer last fired.", "name"),
    ACCEPTED := counter(
        "node_systemd_socket_accepted_connections_total", "Connections that the socket took.", "name"
    ),
    CONNECTIONS := gauge("node_systemd_socket_current_connections", "Connections of the socket now.", "name"),
    REFUSED := gauge(  # a gauge there too
        "node_systemd_socket_refused_connections_total", "Connections that the socket refused.", "name"
    ),
    VERSION := gauge("node_systemd_version", "The version of systemd.", "version"),
    VIRTUALIZATION := info(
        "node_systemd_virtualization_info", "What the machine is virtualized by.", "virtualization_type"
    ),
)

INCLUDE = SourceOption("include", ".+", "Units to report, as a regular expression.", check_regex)
EXCLUDE = SourceOption(
    "exclude",
    r".+\.(automount|device|mount|scope|slice)",
    "Units to skip, as a regular expression.",
    check_regex,
)
DETAILS = SourceOption(
    "details", "off", "on: also report start times of units, restarts and tasks of services."
)

NAME, MANAGER, PATH = (
    "org.freedesktop.systemd1",
    "org.freedesktop.systemd1.Manager",
    "/org/freedesktop/systemd1",
)
PROPERTIES = "org.freedesktop.DBus.Properties"
BUS = "run/dbus/system_bus_socket"
STATES = ("active", "activating", "deactivating", "inactive", "failed")
NUMBER = re.compile(r"\d{3,}(?:\.\d+)?")
MOST_UNITS = 4096
NO_LIMIT = (1 << 64) - 1
MICRO = 1e6


class Unit(NamedTuple):
    """A loaded unit."""

    name: str
    state: str
    path: str

    @property
    def kind(self) -> str:
        """Return what sort of unit it is, such as Service."""
        return self.name.rpartition(".")[2].capitalize()


class Property(NamedTuple):
    """A number that a kind of unit has; `details` marks those off by default."""

    kind: str
    name: str
    metric: Metric
    scale: float = 1
    details: bool = False


# A service's type does not change, so it is asked for once.
TYPED = ("Service", "Mount")
WANTED = (
    Property("Timer", "LastTriggerUSec", TRIGGERED, MICRO),
    Property("Socket", "NAccepted", ACCEPTED),
    Property("Socket", "NConnections", CONNECTIONS),
    Property("Socket", "NRefused", REFUSED),
    Property("Service", "NRestarts", RESTARTS, details=True),
    Property("Service", "TasksCurrent", TASKS, details=True),
    Property("Service", "TasksMax", MOST_TASKS, details=True),
)


def read(host: Host) -> Iterator[Sample]:
    """Yield the manager's state, then every unit that is wanted."""
    listed, state, version, virtualization = _ask(
        host,
        [
            BusCall(NAME, PATH, MANAGER, "ListUnits"),
            *(_get(PATH, MANAGER, name) for name in ("SystemState", "Version", "Virtualization")),
        ],
    )
    number = NUMBER.search(str(version or ""))
    if number:
        yield VERSION, (str(version),), float(number.group())
    if virtualization is not None:
        yield VIRTUALIZATION, (str(virtualization) or "none",), 1
    if state is not None:
        yield RUNNING, (), int(state == "running")
    rows = [row for row in listed if _is_unit(row)] if isinstance(listed, list) else []
    counts = Counter(str(row[3]) for row in rows)
    yield from ((UNITS, (name,), counts[name]) for name in (*STATES, *sorted(counts.keys() - set(STATES))))
    yield from _units(host, _chosen(host, rows))


def _is_unit(row: Any) -> bool:
    """Tell whether it is name, description, load state, active state, sub state, follower, path, ..."""
    return isinstance(row, Sequence) and len(row) > 6 and all(isinstance(word, str) for word in row[:7])


def _chosen(host: Host, rows: Sequence[Any]) -> list[Unit]:
    wanted, unwanted = compile_option(host, INCLUDE), compile_option(host, EXCLUDE)
    units = [
        Unit(name, active, path)
        for name, _, load, active, _, _, path, *_ in rows
        if load == "loaded" and wanted.fullmatch(name) and not unwanted.fullmatch(name)
    ]
    if len(units) > MOST_UNITS:
        host.note("systemd", f"{len(units)} units, only the first {MOST_UNITS} are reported")
    return units[:MOST_UNITS]


def _units(host: Host, units: list[Unit]) -> Iterator[Sample]:
    details = host.options.get(DETAILS.name) == "on"
    known: dict[str, str] = host.cache.get("types", {})
    untyped_units = [unit for unit in units if unit.kind in TYPED and unit.name not in known]
    properties = [
        (unit, each)
        for unit in units
        for each in WANTED
        if unit.kind == each.kind and (details or not each.details)
    ]
    active = [unit for unit in units if details and unit.state == "active"]
    answers = _ask(
        host,
        [
            *(_get(unit.path, f"{NAME}.{unit.kind}", "Type") for unit in untyped_units),
            *(_get(unit.path, f"{NAME}.{each.kind}", each.name) for unit, each in properties),
            *(_get(unit.path, f"{NAME}.Unit", "ActiveEnterTimestamp") for unit in active),
        ],
    )
    types = {unit.name: known[unit.name] for unit in units if unit.name in known}
    types.update((unit.name, str(answer or "")) for unit, answer in zip(untyped_units, answers))
    host.cache["types"] = types
    for unit in units:
        for state in STATES:
            yield STATE, (unit.name, state, types.get(unit.name, "")), int(state == unit.state)
    rest = answers[len(untyped_units) :]
    for (unit, each), answer in zip(properties, rest):
        yield each.metric, (unit.name,), _number(answer, each.scale)
    if details:
        begun = dict(zip((unit.name for unit in active), rest[len(properties) :]))
        yield from ((STARTED, (unit.name,), _number(begun.get(unit.name, 0), MICRO)) for unit in units)


def _ask(host: Host, calls: list[BusCall]) -> list[Any]:
    if not calls:
        return []
    try:
        return host.calls.bus(f"{host.root.top.rstrip('/')}/{BUS}", calls)
    except (FileNotFoundError, ConnectionRefusedError, PermissionError) as error:
        raise Unavailable(f"no connection to systemd at /{BUS}: {error.strerror or error}") from error


def _get(path: str, interface: str, name: str) -> BusCall:
    return BusCall(NAME, path, PROPERTIES, "Get", (interface, name))


def _number(answer: Any, scale: float) -> float | None:
    if not isinstance(answer, (int, float)) or answer == NO_LIMIT:
        return None
    return answer if scale == 1 else answer / scale


SOURCE = Source("systemd", METRICS, read, slow=True, default=False, options=(INCLUDE, EXCLUDE, DETAILS))
