"""Batteries, AC adapters and UPSs, from /sys/class/power_supply."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, gauge, info
from vigie.sources._attributes import read_label, read_measure
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import to_printable

# File, suffix of node_power_supply_, help.
UNSCALED = (
    ("authentic", "authentic", "1 if the supply is authentic."),
    ("calibrate", "calibrate", "1 while the battery is calibrating."),
    ("capacity", "capacity", "Remaining capacity in percent."),
    ("capacity_alert_max", "capacity_alert_max", "Maximum capacity alert in percent."),
    ("capacity_alert_min", "capacity_alert_min", "Minimum capacity alert in percent."),
    ("cycle_count", "cyclecount", "Charge cycles."),
    ("online", "online", "1 if the supply is online, 0 otherwise."),
    ("present", "present", "1 if the supply is present."),
    ("time_to_empty_now", "time_to_empty_seconds", "Time until empty."),
    ("time_to_full_now", "time_to_full_seconds", "Time until full."),
)
MICRO = (
    ("current_boot", "current_boot", "Current at boot, in amperes."),
    ("current_max", "current_max", "Maximum current, in amperes."),
    ("current_now", "current_ampere", "Current, in amperes."),
    ("energy_empty", "energy_empty", "Energy when empty, in watt hours."),
    ("energy_empty_design", "energy_empty_design", "Energy when empty by design, in watt hours."),
    ("energy_full", "energy_full", "Energy when full, in watt hours."),
    ("energy_full_design", "energy_full_design", "Energy when full by design, in watt hours."),
    ("energy_now", "energy_watthour", "Remaining energy, in watt hours."),
    ("voltage_boot", "voltage_boot", "Voltage at boot, in volts."),
    ("voltage_max", "voltage_max", "Maximum voltage, in volts."),
    ("voltage_max_design", "voltage_max_design", "Maximum voltage by design, in volts."),
    ("voltage_min", "voltage_min", "Minimum voltage, in volts."),
    ("voltage_min_design", "voltage_min_design", "Minimum voltage by design, in volts."),
    ("voltage_now", "voltage_volt", "Voltage, in volts."),
    ("voltage_ocv", "voltage_ocv", "Open-circuit voltage, in volts."),
    (
        "charge_control_limit",
        "charge_control_limit",
        "Charge control limit, in amperes.",
    ),
    ("charge_control_limit_max", "charge_control_limit_max", "Maximum charge control limit, in amperes."),
    ("charge_counter", "charge_counter", "Charge counter, in ampere hours."),
    ("charge_empty", "charge_empty", "Charge when empty, in ampere hours."),
    ("charge_empty_design", "charge_empty_design", "Charge when empty by design, in ampere hours."),
    ("charge_full", "charge_full", "Charge when full, in ampere hours."),
    ("charge_full_design", "charge_full_design", "Charge when full by design, in ampere hours."),
    ("charge_now", "charge_ampere", "Remaining charge, in ampere hours."),
    ("charge_term_current", "charge_term_current", "Charge termination current, in amperes."),
    ("constant_charge_current", "constant_charge_current", "Constant charge current, in amperes."),
    (
        "constant_charge_current_max",
        "constant_charge_current_max",
        "Maximum constant charge current, in amperes.",
    ),
    ("constant_charge_voltage", "constant_charge_voltage", "Constant charge voltage, in volts."),
    (
        "constant_charge_voltage_max",
        "constant_charge_voltage_max",
        "Maximum constant charge voltage, in volts.",
    ),
    ("precharge_current", "precharge_current", "Precharge current, in amperes."),
    ("input_current_limit", "input_current_limit", "Input current limit, in amperes."),
    ("power_now", "power_watt", "Power, in watts."),
)
TENTHS = (
    ("temp", "temp_celsius", "Temperature of the supply."),
    ("temp_alert_max", "temp_alert_max_celsius", "Maximum temperature alert."),
    ("temp_alert_min", "temp_alert_min_celsius", "Minimum temperature alert."),
    ("temp_ambient", "temp_ambient_celsius", "Ambient temperature."),
    ("temp_ambient_max", "temp_ambient_max_celsius", "Maximum ambient temperature alert."),
    ("temp_ambient_min", "temp_ambient_min_celsius", "Minimum ambient temperature alert."),
    ("temp_max", "temp_max_celsius", "Maximum allowed temperature."),
    ("temp_min", "temp_min_celsius", "Minimum allowed temperature."),
)
NUMBERS: dict[str, tuple[Metric, int]] = {
    file: (gauge(f"node_power_supply_{name}", meaning, "power_supply"), divisor)
    for rows, divisor in ((UNSCALED, 1), (MICRO, 1_000_000), (TENTHS, 10))
    for file, name, meaning in rows
}
TEXTS = (
    *("capacity_level", "charge_type", "health", "manufacturer", "model_name", "scope"),
    *("serial_number", "status", "technology", "type", "usb_type"),
)
INFO = info("node_power_supply_info", "Type, model, state and health of the supply.", "power_supply", *TEXTS)
METRICS = (INFO, *(metric for metric, _ in NUMBERS.values()))

CLASS = "class/power_supply"


def read(host: Host) -> Iterator[Sample]:
    names = host.sys.list_directory(CLASS)
    if not names:
        raise Unavailable("no power supply")
    known: dict[str, list[str]] = host.cache.get("files", {})
    files = host.cache["files"] = {
        name: known.get(name) or host.sys.list_names(f"{CLASS}/{name}") for name in names
    }
    for name in names:
        path, labels = f"{CLASS}/{name}/", (to_printable(name),)
        for file in files[name]:
            if file in NUMBERS:
                metric, divisor = NUMBERS[file]
                yield metric, labels, read_measure(host, path + file, divisor)
        if files[name]:
            texts = (read_label(host, path + file) if file in files[name] else "" for file in TEXTS)
            yield INFO, (*labels, *texts), 1


SOURCE = Source("powersupplyclass", METRICS, read)
