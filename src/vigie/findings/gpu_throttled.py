"""A GPU is throttled by power or heat: the slowest of a job slows all."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    title="GPU throttled",
    severity=WARNING,
    summary="{node}:{gpu} is throttled ({reason}){clock}.{hurt}",
    action="Check power and cooling: `nvidia-smi -q -d PERFORMANCE -i {gpu}`. "
    "Drain: `scontrol update nodename={node} state=drain reason=throttled`.",
    query='max by (instance, gpu, reason) (vigie_gpu_throttled{reason=~".*(brake|thermal|slowdown).*"}) == 1',
    events=("gpu_throttled",),
    badge="straggler",
    slows_peers=True,
    alert_after="5m",
)
