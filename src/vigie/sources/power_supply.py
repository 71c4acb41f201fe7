"""Batteries, mains adapters and uninterruptible supplies, from /sys/class/power_supply."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, gauge, info
from vigie.sources._attributes import label, measure
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

# The file, what the metric adds to node_power_supply_, and what it says.
AS_IT_IS = (
    ("authentic", "authentic", "1 if the supply proved to be the maker's own."),
    ("calibrate", "calibrate", "1 while the battery's gauge is being calibrated."),
    ("capacity", "capacity", "Charge left, in percent."),
    ("capacity_alert_max", "capacity_alert_max", "Charge in percent above which there is an alert."),
    ("capacity_alert_min", "capacity_alert_min", "Charge in percent below which there is an alert."),
    ("cycle_count", "cyclecount", "Times the battery was charged and discharged."),
    ("online", "online", "1 if the supply delivers power, 0 if it does not."),
    ("present", "present", "1 if the supply is there."),
    ("time_to_empty_now", "time_to_empty_seconds", "Time until the battery is empty."),
    ("time_to_full_now", "time_to_full_seconds", "Time until the battery is full."),
)
MICRO = (
    ("current_boot", "current_boot", "Current at boot, in amperes."),
    ("current_max", "current_max", "Largest current, in amperes."),
    ("current_now", "current_ampere", "Current now, in amperes."),
    ("energy_empty", "energy_empty", "Energy when the battery counts as empty, in watt hours."),
    ("energy_empty_design", "energy_empty_design", "Energy when empty by design, in watt hours."),
    ("energy_full", "energy_full", "Energy when the battery is full, in watt hours."),
    ("energy_full_design", "energy_full_design", "Energy when full by design, in watt hours."),
    ("energy_now", "energy_watthour", "Energy left in the battery, in watt hours."),
    ("voltage_boot", "voltage_boot", "Voltage at boot, in volts."),
    ("voltage_max", "voltage_max", "Highest voltage, in volts."),
    ("voltage_max_design", "voltage_max_design", "Highest voltage by design, in volts."),
    ("voltage_min", "voltage_min", "Lowest voltage, in volts."),
    ("voltage_min_design", "voltage_min_design", "Lowest voltage by design, in volts."),
    ("voltage_now", "voltage_volt", "Voltage now, in volts."),
    ("voltage_ocv", "voltage_ocv", "Voltage without load, in volts."),
    (
        "charge_control_limit",
        "charge_control_limit",
        "Limit of the charging current that is set, in amperes.",
    ),
    ("charge_control_limit_max", "charge_control_limit_max", "Highest limit that can be set, in amperes."),
    ("charge_counter", "charge_counter", "Charge counted since some moment, in ampere hours."),
    ("charge_empty", "charge_empty", "Charge when the battery counts as empty, in ampere hours."),
    ("charge_empty_design", "charge_empty_design", "Charge when empty by design, in ampere hours."),
    ("charge_full", "charge_full", "Charge when the battery is full, in ampere hours."),
    ("charge_full_design", "charge_full_design", "Charge when full by design, in ampere hours."),
    ("charge_now", "charge_ampere", "Charge left in the battery, in ampere hours."),
    ("charge_term_current", "charge_term_current", "Current at which charging ends, in amperes."),
    ("constant_charge_current", "constant_charge_current", "Charging current that is set, in amperes."),
    ("constant_charge_current_max", "constant_charge_current_max", "Highest charging current, in amperes."),
    ("constant_charge_voltage", "constant_charge_voltage", "Charging voltage that is set, in volts."),
    ("constant_charge_voltage_max", "constant_charge_voltage_max", "Highest charging voltage, in volts."),
    ("precharge_current", "precharge_current", "Current before real charging begins, in amperes."),
    ("input_current_limit", "input_current_limit", "Current that the charger may draw, in amperes."),
    ("power_now", "power_watt", "Power now, in watts."),
)
TENTHS = (
    ("temp", "temp_celsius", "Temperature of the supply."),
    ("temp_alert_max", "temp_alert_max_celsius", "Temperature above which there is an alert."),
    ("temp_alert_min", "temp_alert_min_celsius", "Temperature below which there is an alert."),
    ("temp_ambient", "temp_ambient_celsius", "Temperature around the supply."),
    ("temp_ambient_max", "temp_ambient_max_celsius", "Ambient temperature above which there is an alert."),
    ("temp_ambient_min", "temp_ambient_min_celsius", "Ambient temperature below which there is an alert."),
    ("temp_max", "temp_max_celsius", "Highest temperature that is allowed."),
    ("temp_min", "temp_min_celsius", "Lowest temperature that is allowed."),
)
NUMBERS: dict[str, tuple[Metric, int]] = {
    file: (gauge(f"node_power_supply_{name}", meaning, "power_supply"), divisor)
    for rows, divisor in ((AS_IT_IS, 1), (MICRO, 1_000_000), (TENTHS, 10))
    for file, name, meaning in rows
}
TEXTS = (
    *("capacity_level", "charge_type", "health", "manufacturer", "model_name", "scope"),
    *("serial_number", "status", "technology", "type", "usb_type"),
)
INFO = info("node_power_supply_info", "Which power supply it is, and how it does.", "power_supply", *TEXTS)
METRICS = (INFO, *(metric for metric, _ in NUMBERS.values()))

CLASS = "class/power_supply"


def read(host: Host) -> Iterator[Sample]:
    """Yield what every supply says of itself."""
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("the kernel knows no battery and no mains adapter")
    known: dict[str, list[str]] = host.cache.get("files", {})
    files = host.cache["files"] = {
        name: known.get(name) or host.sys.list_names(f"{CLASS}/{name}") for name in names
    }
    for name in names:
        path, labels = f"{CLASS}/{name}/", (to_printable(name),)
        for file in files[name]:
            if file in NUMBERS:
                metric, divisor = NUMBERS[file]
                yield metric, labels, measure(host, path + file, divisor)
        if files[name]:
            texts = (label(host, path + file) if file in files[name] else "" for file in TEXTS)
            yield INFO, (*labels, *texts), 1


SOURCE = Source("powersupplyclass", METRICS, read)
