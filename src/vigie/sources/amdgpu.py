"""AMD GPUs, from the amdgpu driver's files in sysfs. Needs no library."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, counter, gauge
from vigie.sources import _gpu
from vigie.sources._amdgpu_cards import NO_CARD, AmdCard, find_cards, is_suspended
from vigie.sources._amdgpu_files import (
    parse_current_clock,
    parse_pcie_generation,
    parse_ras_counts,
    parse_throttle_reasons,
)
from vigie.sources._attributes import read_count, read_measure
from vigie.sources._gpu import GPU
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable

SHARED = (
    *(_gpu.INFO, _gpu.BUSY, _gpu.MEMORY_BUSY, _gpu.MEMORY_USED, _gpu.MEMORY_TOTAL),
    *(_gpu.POWER, _gpu.POWER_LIMIT, _gpu.TEMPERATURE, _gpu.MEMORY_TEMPERATURE),
    *(_gpu.CLOCK, _gpu.MEMORY_CLOCK, _gpu.FAN, _gpu.THROTTLED),
    *(_gpu.PCIE_GENERATION, _gpu.PCIE_GENERATION_MAX, _gpu.PCIE_WIDTH, _gpu.PCIE_WIDTH_MAX),
)
METRICS = (
    *SHARED,
    SUSPENDED := gauge(
        "vigie_amdgpu_suspended", "1 while the GPU is suspended. Suspended GPUs stay suspended.", *GPU
    ),
    GTT_USED := gauge("vigie_amdgpu_gtt_used_bytes", "Host memory used by the GPU.", *GPU),
    GTT_TOTAL := gauge("vigie_amdgpu_gtt_total_bytes", "Host memory available to the GPU.", *GPU),
    SENSOR := gauge("vigie_amdgpu_temperature_celsius", "Temperature by sensor.", *GPU, "sensor"),
    CLOCKS := gauge("vigie_amdgpu_clock_hertz", "Clock by domain.", *GPU, "clock"),
    FAN_SPEED := gauge("vigie_amdgpu_fan_rpm", "Fan speed in revolutions per minute.", *GPU),
    REPLAYS := counter("vigie_amdgpu_pcie_replays_total", "PCIe replays.", *GPU),
    RAS := counter(
        "vigie_amdgpu_ras_errors_total",
        "RAS errors by block and kind.",
        *(*GPU, "block", "kind"),
    ),
)

# File, metric, divisor. Without pcie_bw, as reading it takes a second.
FILES = (
    ("gpu_busy_percent", _gpu.BUSY, 100),
    ("mem_busy_percent", _gpu.MEMORY_BUSY, 100),
    ("mem_info_vram_used", _gpu.MEMORY_USED, 1),
    ("mem_info_vram_total", _gpu.MEMORY_TOTAL, 1),
    ("mem_info_gtt_used", GTT_USED, 1),
    ("mem_info_gtt_total", GTT_TOTAL, 1),
    ("current_link_width", _gpu.PCIE_WIDTH, 1),
    ("max_link_width", _gpu.PCIE_WIDTH_MAX, 1),
)
SPEEDS = (("current_link_speed", _gpu.PCIE_GENERATION), ("max_link_speed", _gpu.PCIE_GENERATION_MAX))
LEVELS = ("sclk", "mclk", "fclk", "socclk")
ERROR_KINDS = {"ue": "uncorrected", "ce": "corrected", "de": "deferred"}


def read(host: Host) -> Iterator[Sample]:
    """Yield the metrics of each card. A suspended card has only its identity."""
    found = find_cards(host)
    if not found:
        raise Unavailable(NO_CARD)
    for card in found:
        yield _gpu.INFO, (*card.labels, card.address, "amdgpu"), 1
        # Almost any other file resumes the card, which may take a second and costs power.
        sleeps = is_suspended(host, card)
        yield SUSPENDED, card.labels, int(sleeps)
        if not sleeps:
            yield from _read_card(host, card)


def _read_card(host: Host, card: AmdCard) -> Iterator[Sample]:
    for file, metric, divisor in FILES:
        yield metric, card.labels, read_measure(host, f"{card.path}/{file}", divisor, 0)
    for file, metric in SPEEDS:
        yield metric, card.labels, parse_pcie_generation(host.sys.read_text(f"{card.path}/{file}") or "")
    yield from _read_clocks(host, card)
    for reason, held in parse_throttle_reasons(host.sys.read_bytes(f"{card.path}/gpu_metrics")):
        yield _gpu.THROTTLED, (*card.labels, reason), held
    yield from _read_ras(host, card)
    if card.hwmon:
        yield from _read_power(host, card)
        yield from _read_temperatures(host, card)
        yield from _read_fan(host, card)


def _read_power(host: Host, card: AmdCard) -> Iterator[Sample]:
    # Average power if available. MI300 has only the current value.
    power = read_measure(host, f"{card.hwmon}/power1_average", 1_000_000, 0)
    if power is None:
        power = read_measure(host, f"{card.hwmon}/power1_input", 1_000_000, 0)
    yield _gpu.POWER, card.labels, power
    yield _gpu.POWER_LIMIT, card.labels, read_measure(host, f"{card.hwmon}/power1_cap", 1_000_000, 0)


def _read_temperatures(host: Host, card: AmdCard) -> Iterator[Sample]:
    found = {name: read_measure(host, path, 1000) for name, path in card.temperatures}
    for name, value in found.items():
        yield SENSOR, (*card.labels, name), value
    edge = found.get("edge")
    yield _gpu.TEMPERATURE, card.labels, found.get("junction") if edge is None else edge
    yield _gpu.MEMORY_TEMPERATURE, card.labels, found.get("mem")


def _read_clocks(host: Host, card: AmdCard) -> Iterator[Sample]:
    clocks = {name: read_measure(host, path, 1, 0) for name, path in card.frequencies}
    for name in LEVELS:
        if clocks.get(name) is None:
            clocks[name] = parse_current_clock(host.sys.read_text(f"{card.path}/pp_dpm_{name}") or "")
    yield _gpu.CLOCK, card.labels, clocks["sclk"]
    yield _gpu.MEMORY_CLOCK, card.labels, clocks["mclk"]
    for name, value in clocks.items():
        yield CLOCKS, (*card.labels, name), value


def _read_fan(host: Host, card: AmdCard) -> Iterator[Sample]:
    yield FAN_SPEED, card.labels, read_measure(host, f"{card.hwmon}/fan1_input", 1, 0)
    driven = read_measure(host, f"{card.hwmon}/pwm1", 1, 0)
    most = read_measure(host, f"{card.hwmon}/pwm1_max", 1, 0)
    yield _gpu.FAN, card.labels, driven / most if driven is not None and most else None


def _read_ras(host: Host, card: AmdCard) -> Iterator[Sample]:
    for block, path in card.ras:
        for word, errors in parse_ras_counts(host.sys.read_text(path) or ""):
            if word in ERROR_KINDS:
                yield RAS, (*card.labels, block, ERROR_KINDS[word]), errors
    yield REPLAYS, card.labels, read_count(host, f"{card.path}/pcie_replay_count")


SOURCE = Source("amdgpu", METRICS, read, slow=True)
