"""A node's agent was stopped in order, so nothing is known of the node."""

from __future__ import annotations

from vigie.findings import node_lost
from vigie.findings.core.finding import INFO, Finding

FINDING = Finding(
    name="node-stopped",
    title="agent stopped",
    severity=INFO,
    what="{node} is not watched: its agent was stopped{hurt}.",
    was="{node} was not watched for {lasted}: its agent was stopped.",
    do="Start it when the work there is done: `systemctl start vigie-agent` on {node}; "
    "if it will not come back: `vigie nodes remove {node}`.",
    after="Nothing: it is watched again.",
    events=("node_stopped",),
    explains=("node-lost", *node_lost.FINDING.explains),
    chip="not watched",
    node_wide=True,
)
