"""Jobs compete for the CPUs of a node."""

from __future__ import annotations

from vigie.findings._job_promql import HELD_NODES
from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    title="CPU saturated",
    severity=WARNING,
    summary="CPU saturated on {node}: tasks wait for a core {value} of the time.{hurt}",
    action="Find the load with `top`. Bind jobs to cores (`--cpus-per-task`).",
    # One process that waits for the core it is bound to is pressure, too, while others are idle.
    query=f"""(max by (instance) (rate(node_pressure_cpu_waiting_seconds_total[5m])) > 0.3)
  and on (instance) ({HELD_NODES} > 0)
  and on (instance) (avg by (instance) (rate(node_cpu_seconds_total{{mode="idle"}}[5m])) < 0.1)""",
    lag_ms=2 * MINUTE_MS,
    unit="ratio",
    badge="CPU saturated",
    explained_by=("node-lost", "node-stopped"),
)
