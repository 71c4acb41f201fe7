"""Hardware sensors, from /sys/class/hwmon."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from vigie.model import Metric, Sample, counter, gauge, info
from vigie.sources._attributes import read_measure
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

SENSOR = ("chip", "sensor")

METRICS = (
    CHIP := info("node_hwmon_chip_names", "Driver name of the chip.", "chip", "chip_name"),
    LABEL := info("node_hwmon_sensor_label", "Label of the sensor.", *SENSOR, "label"),
    gauge("node_hwmon_temp_celsius", "Temperature in degrees Celsius.", *SENSOR),
    gauge("node_hwmon_temp_*_celsius", "Attribute * of a temperature sensor, in degrees Celsius.", *SENSOR),
    gauge("node_hwmon_fan_rpm", "Fan speed in revolutions per minute.", *SENSOR),
    gauge("node_hwmon_fan_*_rpm", "Attribute * of a fan, in revolutions per minute.", *SENSOR),
    gauge("node_hwmon_pwm", "PWM duty cycle of the fan, 0 to 255.", *SENSOR),
    gauge("node_hwmon_in_volts", "Voltage in volts.", *SENSOR),
    gauge("node_hwmon_in_*_volts", "Attribute * of a voltage sensor, in volts.", *SENSOR),
    gauge("node_hwmon_cpu_*_volts", "Attribute * of a CPU core voltage, in volts.", *SENSOR),
    gauge("node_hwmon_curr_amps", "Current in amperes.", *SENSOR),
    gauge("node_hwmon_curr_*_amps", "Attribute * of a current sensor, in amperes.", *SENSOR),
    gauge("node_hwmon_power_accuracy", "Accuracy of the power meter, 0 to 1.", *SENSOR),
    gauge("node_hwmon_power_*_seconds", "Attribute * of a power sensor, in seconds.", *SENSOR),
    gauge("node_hwmon_power_watt", "Power in watts.", *SENSOR),
    gauge("node_hwmon_power_*_watt", "Attribute * of a power sensor, in watts.", *SENSOR),
    counter("node_hwmon_energy_joule_total", "Energy used, in joules.", *SENSOR),
    counter("node_hwmon_energy_*_joule_total", "Attribute * of an energy sensor, in joules.", *SENSOR),
    gauge("node_hwmon_humidity", "Relative humidity, 0 to 1.", *SENSOR),
    gauge("node_hwmon_freq_freq_mhz", "Clock frequency in MHz.", *SENSOR),
    gauge("node_hwmon_update_interval_seconds", "Update interval of the chip.", *SENSOR),
    gauge("node_hwmon_voltage_regulator_version", "Version of the voltage regulator standard.", *SENSOR),
    gauge("node_hwmon_beep_enabled", "1 if beeping is enabled.", *SENSOR),
    gauge("node_hwmon_*", "Attribute * of a sensor chip, unscaled.", *SENSOR),
)

CLASS = "class/hwmon"
# A file name is sensor kind, number, and after an underscore the attribute: temp1_crit.
FILE = re.compile(r"^([^0-9]+)([0-9]*)(?:_(.+))?$")
NOT_IN_NAMES = re.compile("[^a-z0-9:_]")
# These have no number. Others require one, as a device's directory has a `power` directory.
WHOLE_CHIP = {
    "vrm": ("node_hwmon_voltage_regulator_version", 1),
    "update_interval": ("node_hwmon_update_interval_seconds", 1000),
    "beep_enable": ("node_hwmon_beep_enabled", 1),
}
KINDS = {"in", "cpu", "fan", "pwm", "temp", "curr", "power", "energy", "humidity", "intrusion", "freq"}
UNITS = {
    "in": ("_volts", 1000),
    "cpu": ("_volts", 1000),
    "temp": ("_celsius", 1000),
    "curr": ("_amps", 1000),
    "energy": ("_joule_total", 1_000_000),
    "power": ("_watt", 1_000_000),
    "humidity": ("", 1_000_000),
}
# Where the attribute decides the unit, not the kind.
EXCEPTIONS = {
    ("temp", "type"): ("", 1),
    ("power", "accuracy"): ("", 1_000_000),
    ("power", "average_interval"): ("_seconds", 1000),
    ("power", "average_interval_min"): ("_seconds", 1000),
    ("power", "average_interval_max"): ("_seconds", 1000),
    ("fan", "input"): ("_rpm", 1),
    ("fan", "min"): ("_rpm", 1),
    ("fan", "max"): ("_rpm", 1),
    ("fan", "target"): ("_rpm", 1),
    ("freq", "input"): ("_freq_mhz", 1_000_000),
}
WITHOUT_UNIT = {"fault": "", "alarm": "", "beep": "_enabled"}

Attributes = dict[str, dict[str, str]]  # path of each attribute, by sensor


class SensorReading(NamedTuple):
    """A file that is read every time, and its metric."""

    metric: Metric
    labels: tuple[str, str]
    path: str
    divisor: int


def read(host: Host) -> Iterator[Sample]:
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("no hwmon driver is loaded")
    if host.cache.get("names") != names:
        host.cache["names"] = names
        host.cache["facts"], host.cache["readings"] = _find_sensors(host, names)
    yield from host.cache["facts"]
    # Most attributes of a suspended card would resume it.
    asleep = tuple(f"{CLASS}/{name}/" for name in names if _is_suspended(host, name))
    for metric, labels, path, divisor in host.cache["readings"]:
        if not path.startswith(asleep):
            yield metric, labels, read_measure(host, path, divisor)


def _is_suspended(host: Host, name: str) -> bool:
    return host.sys.read_text(f"{CLASS}/{name}/device/power/runtime_status") in ("suspended", "suspending")


def _find_sensors(host: Host, names: list[str]) -> tuple[list[Sample], list[SensorReading]]:
    facts: list[Sample] = []
    readings: list[SensorReading] = []
    for name, chip in _find_chips(host, names).items():
        kind = _clean(host.sys.read_text(f"{CLASS}/{name}/name") or "")
        if kind:
            facts.append((CHIP, (chip, kind), 1))
        for sensor, paths in _find_attributes(host, f"{CLASS}/{name}").items():
            label = to_printable(host.sys.read_text(paths["label"]) or "") if "label" in paths else ""
            if label:
                facts.append((LABEL, (chip, sensor, label), 1))
            readings.extend(_build_readings((chip, sensor), label, paths))
    return facts, readings


def _find_chips(host: Host, names: list[str]) -> dict[str, str]:
    """Return the name of each chip: its device path, which is stable across boots."""
    chips = {name: _build_chip_name(host, name) for name in names}
    shared = Counter(chips.values())
    for name, chip in chips.items():
        if shared[chip] > 1:
            chips[name] = f"{chip}_{_clean(host.sys.read_text(f'{CLASS}/{name}/name') or name)}"
    shared = Counter(chips.values())
    return {name: f"{chip}_{name}" if shared[chip] > 1 else chip for name, chip in chips.items()}


def _build_chip_name(host: Host, name: str) -> str:
    path = f"{CLASS}/{name}"
    try:
        here = posixpath.join(CLASS, host.sys.read_link(path))
    except OSError:  # a directory on old kernels
        here = path
    try:
        device = posixpath.normpath(posixpath.join(here, host.sys.read_link(f"{path}/device")))
    except OSError:
        device = ""
    bus_and_device = [_clean(part) for part in device.split("/")[-2:]]
    return "_".join(filter(None, bus_and_device)) or _clean(host.sys.read_text(f"{path}/name") or "") or name


def _find_attributes(host: Host, path: str) -> Attributes:
    found: Attributes = {}
    for directory in (path, f"{path}/device"):
        for file in host.sys.list_names(directory):
            match = FILE.match(file)
            if match is None:
                continue
            kind, number, attribute = match.groups()
            if kind in WHOLE_CHIP or (kind in KINDS and number):
                sensor = f"{kind}{int(number or 0)}"
                found.setdefault(sensor, {})[attribute or ""] = f"{directory}/{file}"
    return found


def _build_readings(labels: tuple[str, str], label: str, paths: dict[str, str]) -> Iterator[SensorReading]:
    kind = labels[1].rstrip("0123456789")
    if kind == "freq" and _clean(label):
        labels = (labels[0], _clean(label))  # a clock is identified by its name
    for attribute, path in paths.items():
        if attribute != "label":
            name, divisor = _build_metric_name(kind, attribute, "" in paths)
            yield SensorReading(_build_reading(name), labels, path, divisor)


def _build_metric_name(kind: str, attribute: str, bare: bool) -> tuple[str, int]:
    """Return the metric name and the divisor."""
    if kind in WHOLE_CHIP:
        return WHOLE_CHIP[kind]
    name = f"node_hwmon_{kind}"
    if attribute and (attribute != "input" or bare):
        name = f"{name}_{_clean(attribute)}"
    if attribute in WITHOUT_UNIT:
        return name + WITHOUT_UNIT[attribute], 1
    suffix, divisor = EXCEPTIONS.get((kind, attribute)) or UNITS.get(kind, ("", 1))
    return name + suffix, divisor


def _build_reading(name: str) -> Metric:
    row = next(row for row in METRICS if row.matches(name))
    head, star, tail = row.name.partition("*")
    return row.expand(name[len(head) : len(name) - len(tail)]) if star else row


def _clean(text: str) -> str:
    return NOT_IN_NAMES.sub("_", text.lower()).strip("_")


SOURCE = Source("hwmon", METRICS, read, slow=True)
