"""The cores of a node are all taken, and what feeds its GPUs has to wait."""

from __future__ import annotations

from vigie.findings._job_promql import HELD_NODES
from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    name="cpu-crowded",
    title="CPU crowded",
    severity=WARNING,
    what="A noisy neighbour: the CPUs of {node} are all taken, and processes wait for one "
    "{value} of the time{hurt}.",
    was="A noisy neighbour: the CPUs of {node} were all taken for {lasted}{hurt}.",
    do="Find who takes the cores (`top` on {node}); bind jobs to their own cores (cgroups, --cpus-per-task).",
    # One process that waits for the core it is bound to is pressure, too, while others are idle.
    when=f"""(max by (instance) (rate(node_pressure_cpu_waiting_seconds_total[5m])) > 0.3)
  and on (instance) ({HELD_NODES} > 0)
  and on (instance) (avg by (instance) (rate(node_cpu_seconds_total{{mode="idle"}}[5m])) < 0.1)""",
    lag_ms=2 * MINUTE_MS,
    chip="CPU short",
    unit="ratio",
)
