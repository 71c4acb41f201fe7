"""Which numbers tell of events: a state that begins or ends, a count that rises; one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

GPU_LABELS = ("gpu", "uuid", "UUID", "pci_bus_id")
PORT_LABELS = ("device", "port")
HOUR_MS = 3_600_000
ACTIVE = 4  # the state of a port of InfiniBand that carries data

Labels = dict[str, str]


class CounterRule(NamedTuple):
    """A count that rises is an event: at once, or at most once in a while for what is often harmless."""

    metric: str
    kind: str
    severity: str
    what: str
    where_labels: tuple[str, ...]
    min_interval_ms: int = 0
    applies: Callable[[Labels], bool] = lambda _: True


class StateRule(NamedTuple):
    """An event that lasts while `holds` is true of the value, and of `beside` at the same labels."""

    metric: str
    kind: str
    severity: str
    what: str
    where_labels: tuple[str, ...]
    holds: Callable[[float, float], bool]
    other_metric: str = ""
    only_after_good: bool = False  # what was never good is how it is meant to be: a port without a cable
    applies: Callable[[Labels], bool] = lambda _: True


def _is_harmful(labels: Labels) -> bool:
    """Tell whether a reason to be held back is trouble, and not a limit that somebody set."""
    return any(word in labels.get("reason", "") for word in ("thermal", "slowdown", "brake"))


def _is_uncorrected(labels: Labels) -> bool:
    return labels.get("kind") == "uncorrected"


RULES: tuple[CounterRule | StateRule, ...] = (
    StateRule(
        "node_infiniband_state_id",
        *("ib_link_down", "critical", "the port carries no data any more", PORT_LABELS),
        holds=lambda state, _: state != ACTIVE,
        only_after_good=True,
    ),
    CounterRule(
        "node_infiniband_link_downed_total",
        "ib_link_flap",
        "warning",
        "times that the link went down: {by:g}",
        PORT_LABELS,
    ),
    StateRule(
        "vigie_gpu_throttled",
        *("gpu_throttled", "warning", "the GPU is held back", (*GPU_LABELS, "reason")),
        holds=lambda value, _: value == 1,
        applies=_is_harmful,
    ),
    StateRule(
        "vigie_gpu_nvlink_up",
        *("nvlink_down", "critical", "a link of NVLink is down", (*GPU_LABELS, "link")),
        holds=lambda value, _: value == 0,
        only_after_good=True,
    ),
    StateRule(
        "vigie_gpu_pcie_width",
        *("pcie_downgrade", "warning", "the GPU uses fewer lanes of PCIe than it has", GPU_LABELS),
        holds=lambda width, most: 0 < width < most,
        other_metric="vigie_gpu_pcie_width_max",
    ),
    CounterRule(
        "vigie_amdgpu_ras_errors_total",
        *(
            "gpu_ras_errors",
            "critical",
            "errors of the hardware that were not corrected: {by:g}",
            (*GPU_LABELS, "block"),
        ),
        applies=_is_uncorrected,
    ),
    CounterRule(
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        *("gpu_ecc", "critical", "memory errors that were not corrected: {by:g}", GPU_LABELS),
    ),
    CounterRule(
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
        "gpu_ecc",
        "info",
        "memory errors that were corrected: {by:g}",
        GPU_LABELS,
        HOUR_MS,
    ),
    CounterRule(
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
        *(
            "gpu_row_remapped",
            "critical",
            "rows of memory remapped after an uncorrected error: {by:g}",
            GPU_LABELS,
        ),
    ),
    CounterRule(
        "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
        *(
            "gpu_row_remapped",
            "warning",
            "rows of memory remapped after corrected errors: {by:g}",
            GPU_LABELS,
        ),
    ),
    StateRule(
        "DCGM_FI_DEV_ROW_REMAP_FAILURE",
        *(
            "gpu_row_remap_failed",
            "critical",
            "a bad row of memory could not be remapped: isolate the GPU",
            GPU_LABELS,
        ),
        holds=lambda value, _: value == 1,
    ),
    CounterRule(
        "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
        *(
            "nvlink_recovery",
            "warning",
            "times that NVLink recovered from errors: {by:g}",
            GPU_LABELS,
            HOUR_MS,
        ),
    ),
    CounterRule(
        "node_edac_uncorrectable_errors_total",
        *("memory_error", "critical", "memory errors that were not corrected: {by:g}", ("controller",)),
    ),
    CounterRule(
        "node_edac_correctable_errors_total",
        *("memory_error", "warning", "memory errors that were corrected: {by:g}", ("controller",), HOUR_MS),
    ),
)
BY_METRIC = {rule.metric: rule for rule in RULES}
