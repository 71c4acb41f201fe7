"""A port of InfiniBand has errors that a good cable does not have."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    name="ib-errors",
    title="InfiniBand errors",
    severity=WARNING,
    what="The InfiniBand link {device} of {node} has errors of the line: {value} a second{hurt}.",
    do="Check and clean the cable of {device} on {node}; replace it if the errors go on.",
    when="""(max by (instance, device, port) (rate(node_infiniband_symbol_error_total[10m]))
  + max by (instance, device, port) (rate(node_infiniband_local_link_integrity_errors_total[10m]))) > 0.5""",
    unit="count",
)
