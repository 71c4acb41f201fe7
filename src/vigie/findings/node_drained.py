"""The scheduler drained a node."""

from __future__ import annotations

from vigie.findings.core.finding import INFO, Finding

FINDING = Finding(
    title="Node drained",
    severity=INFO,
    summary="{node} is drained{because}.",
    action="When fixed: `scontrol update nodename={node} state=resume`.",
    resolved_action="No action needed.",
    # It is the scheduler's node that says so of the others.
    query="""label_replace(max by (node) (slurm_node_cpu_total{status=~"drain.*"}),
  "instance", "$1", "node", "(.*)") > 0""",
    events=("node_drained",),
    node_wide=True,
    explained_by=("node-lost", "node-stopped"),
)
