"""The PCIe link of a GPU has fewer lanes than it could have."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    title="PCIe link downgraded",
    severity=WARNING,
    summary="{node}:{gpu} runs at PCIe x{value}, below its maximum width.{hurt}",
    action="Drain {node}, reseat the card. A reboot may retrain the link.",
    query="max by (instance, gpu) (vigie_gpu_pcie_width < vigie_gpu_pcie_width_max) > 0",
    events=("pcie_downgrade",),
    unit="count",
    badge="slow PCIe",
    alert_after="10m",
)
