"""The scheduler gives a node no work."""

from __future__ import annotations

from vigie.findings.core.finding import INFO, Finding

FINDING = Finding(
    name="node-drained",
    title="drained",
    severity=INFO,
    what="{node} is drained{because}.",
    was="{node} was drained for {lasted}{because}.",
    do="When it is mended: `scontrol update nodename={node} state=resume`.",
    after="Nothing: it takes work again.",
    # It is the scheduler's node that says so of the others.
    when="""label_replace(max by (node) (slurm_node_cpu_total{status=~"drain.*"}),
  "instance", "$1", "node", "(.*)") > 0""",
    events=("node_drained",),
    node_wide=True,
)
