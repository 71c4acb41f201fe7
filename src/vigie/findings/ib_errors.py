"""An InfiniBand link has errors."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    title="InfiniBand link errors",
    severity=WARNING,
    summary="{device} on {node} has {value} link errors per second.{hurt}",
    action="Clean the cable. Replace it if errors continue.",
    query="""(max by (instance, device, port) (rate(node_infiniband_symbol_error_total[10m]))
  + max by (instance, device, port) (rate(node_infiniband_local_link_integrity_errors_total[10m]))) > 0.5""",
    unit="count",
)
