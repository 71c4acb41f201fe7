"""A GPU's clock is held down by its hardware: heat, a brake, a slowdown. One such rank slows its job."""

from __future__ import annotations

from vigie.findings.core.finding import WARNING, Finding

FINDING = Finding(
    name="clock-capped",
    title="clock held down",
    severity=WARNING,
    what="The clock of {node}:{gpu} is held down ({reason}){clock}{hurt}.",
    was="The clock of {node}:{gpu} was held down for {lasted} ({reason}){hurt}.",
    do="Check power, cabling and cooling of {node} (`nvidia-smi -q -d PERFORMANCE -i {gpu}` tells more); "
    "drain it: `scontrol update nodename={node} state=drain reason='clock held down'`.",
    when='max by (instance, gpu, reason) (vigie_gpu_throttled{reason=~".*(brake|thermal|slowdown).*"}) == 1',
    events=("gpu_throttled",),
    chip="straggler",
)
