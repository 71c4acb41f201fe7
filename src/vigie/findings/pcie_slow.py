"""The PCIe link of a GPU has fewer lanes than it could have."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    name="pcie-downgrade",
    title="PCIe downgraded",
    severity=WARNING,
    what="The PCIe link of {node}:{gpu} fell back to fewer lanes{value_of}: copies to it are slow{hurt}.",
    do="Drain {node} and reseat the card or its riser; a reboot may train the link anew.",
    when="max by (instance, gpu) (vigie_gpu_pcie_width < vigie_gpu_pcie_width_max) > 0",
    events=("pcie_downgrade",),
    chip="slow PCIe",
    unit="count",
)
