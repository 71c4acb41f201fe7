"""The memory of a node will be used up within the hour if it goes on like that."""

from __future__ import annotations

from vigie.findings.core.finding import MINUTE_MS, WARNING, Finding

FINDING = Finding(
    name="memory-leak",
    title="memory runs out",
    severity=WARNING,
    what="The memory of {node} runs out: something leaks, and it is gone within the hour{hurt}.{killed}",
    was="The memory of {node} ran out: something leaked{hurt}.{killed}",
    do="Find the process that grows (`ps aux --sort=-rss | head` on {node}) and end it, "
    "or let its owner know, before the kernel kills one.",
    # A job that begins takes much in a few minutes; a leak goes on: in the last ten as in the first.
    when="""max by (instance) ((predict_linear(node_memory_MemAvailable_bytes[30m], 3600) < 0)
  and (node_memory_MemAvailable_bytes < 0.5 * node_memory_MemTotal_bytes)
  and (deriv(node_memory_MemAvailable_bytes[10m]) < 0.3 * deriv(node_memory_MemAvailable_bytes[30m]))
  and (deriv(node_memory_MemAvailable_bytes[10m] offset 20m)
    < 0.3 * deriv(node_memory_MemAvailable_bytes[30m])))""",
    lag_ms=30 * MINUTE_MS,
    explains=("oom-kill",),
    chip="leaks memory",
)
