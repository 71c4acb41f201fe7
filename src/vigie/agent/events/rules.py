"""Rules that turn values into events: a state that begins or ends, or a counter that increases."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

GPU_LABELS = ("gpu", "uuid", "UUID", "pci_bus_id")
PORT_LABELS = ("device", "port")
HOUR_MS = 3_600_000
ACTIVE = 4  # the port state in which InfiniBand transfers data

Labels = dict[str, str]


class CounterRule(NamedTuple):
    """An increase of a counter is an event, reported at most once per `min_interval_ms`."""

    metric: str
    kind: str
    severity: str
    what: str
    where_labels: tuple[str, ...]
    min_interval_ms: int = 0
    applies: Callable[[Labels], bool] = lambda _: True


class StateRule(NamedTuple):
    """A state that lasts while `holds` is true for the value and `other_metric` with the same labels."""

    metric: str
    kind: str
    severity: str
    what: str
    where_labels: tuple[str, ...]
    holds: Callable[[float, float], bool]
    other_metric: str = ""
    only_after_good: bool = False  # ignore what was never good, such as a port without a cable
    applies: Callable[[Labels], bool] = lambda _: True


def _is_harmful(labels: Labels) -> bool:
    """Return whether a throttle reason means a problem, as opposed to a configured limit."""
    return any(word in labels.get("reason", "") for word in ("thermal", "slowdown", "brake"))


def _is_uncorrected(labels: Labels) -> bool:
    return labels.get("kind") == "uncorrected"


RULES: tuple[CounterRule | StateRule, ...] = (
    StateRule(
        "node_infiniband_state_id",
        *("ib_link_down", "critical", "port no longer active", PORT_LABELS),
        holds=lambda state, _: state != ACTIVE,
        only_after_good=True,
    ),
    CounterRule(
        "node_infiniband_link_downed_total",
        "ib_link_flap",
        "warning",
        "link-down events: {by:g}",
        PORT_LABELS,
    ),
    StateRule(
        "vigie_gpu_throttled",
        *("gpu_throttled", "warning", "throttled", (*GPU_LABELS, "reason")),
        holds=lambda value, _: value == 1,
        applies=_is_harmful,
    ),
    StateRule(
        "vigie_gpu_nvlink_up",
        *("nvlink_down", "critical", "NVLink down", (*GPU_LABELS, "link")),
        holds=lambda value, _: value == 0,
        only_after_good=True,
    ),
    StateRule(
        "vigie_gpu_pcie_width",
        *("pcie_downgrade", "warning", "PCIe link runs below its maximum width", GPU_LABELS),
        holds=lambda width, most: 0 < width < most,
        other_metric="vigie_gpu_pcie_width_max",
    ),
    CounterRule(
        "vigie_amdgpu_ras_errors_total",
        *(
            "gpu_ras_errors",
            "critical",
            "uncorrected hardware errors: {by:g}",
            (*GPU_LABELS, "block"),
        ),
        applies=_is_uncorrected,
    ),
    CounterRule(
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        *("gpu_ecc", "critical", "uncorrectable memory errors: {by:g}", GPU_LABELS),
    ),
    CounterRule(
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
        "gpu_ecc",
        "info",
        "corrected memory errors: {by:g}",
        GPU_LABELS,
        HOUR_MS,
    ),
    CounterRule(
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        *(
            "gpu_row_remapped",
            "critical",
            "rows remapped after uncorrectable errors: {by:g}",
            GPU_LABELS,
        ),
    ),
    CounterRule(
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        *(
            "gpu_row_remapped",
            "warning",
            "rows remapped after corrected errors: {by:g}",
            GPU_LABELS,
        ),
    ),
    StateRule(
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        *(
            "gpu_row_remap_failed",
            "critical",
            "row remap failed",
            GPU_LABELS,
        ),
        holds=lambda value, _: value == 1,
    ),
    CounterRule(
        "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
        *(
            "nvlink_recovery",
            "warning",
            "NVLink recoveries from errors: {by:g}",
            GPU_LABELS,
            HOUR_MS,
        ),
    ),
    CounterRule(
        "node_edac_uncorrectable_errors_total",
        *("memory_error", "critical", "uncorrectable memory errors: {by:g}", ("controller",)),
    ),
    CounterRule(
        "node_edac_correctable_errors_total",
        *("memory_error", "warning", "corrected memory errors: {by:g}", ("controller",), HOUR_MS),
    ),
)
BY_METRIC = {rule.metric: rule for rule in RULES}
