"""An agent had to throw data away because the server did not take them in time."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    name="agent-drops",
    title="data dropped",
    severity=WARNING,
    what="The agent of {node} dropped data: its buffer was full.",
    do="Look at the network between {node} and the server, and at the server's load; "
    "a larger buffer helps for a while.",
    when="sum by (instance) (increase(vigie_agent_link_dropped_total[15m])) > 0",
)
