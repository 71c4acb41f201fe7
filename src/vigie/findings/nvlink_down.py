"""A link between GPUs that was up is down."""

from __future__ import annotations

from vigie.findings.core.finding import CRITICAL, Finding

FINDING = Finding(
    name="nvlink-down",
    title="NVLink down",
    severity=CRITICAL,
    what="Link {link} of NVLink of {node}:{gpu} is down{hurt}.",
    do="Drain {node}, reset the GPU and its peers; if the link stays down check the fabric manager.",
    # A link that never was up is not meant to be; one that went down stays so for longer than an hour.
    when="""(vigie_gpu_nvlink_up == 0)
  and (vigie_gpu_nvlink_up offset 1h == 1 or vigie_gpu_nvlink_up offset 1d == 1)""",
    events=("nvlink_down",),
    explains=("xid",),
    chip="NVLink down",
)
