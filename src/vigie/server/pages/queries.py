"""What is asked of the samples: each question gives a number for every GPU or node at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from vigie.server.pages.query_batch import BatchQuery

WORKING = 0.05  # of the last five minutes: a GPU that ran something for less does not work
IDLE = 0.02  # at no moment of the last ten minutes more than that: held but idle
HELD = 'count(max by (instance, gpu) (vigie_holder_info{gpu!=""}))'
HOLDERS = 'max by (instance, gpu) (vigie_holder_info{gpu!=""})'
BUSY_5M = "avg_over_time(vigie_gpu_busy_ratio[5m])"
BUSY_MAX = "max_over_time(vigie_gpu_busy_ratio[10m])"
# The lines behind the numbers of the Cluster page.
PRESENT_LINE = "count(vigie_gpu_info)"
WORKING_LINE = f"count({BUSY_5M} >= {WORKING}) or 0 * count(vigie_gpu_info)"
IDLE_LINE = f"count(({BUSY_MAX} < {IDLE}) and on (instance, gpu) {HOLDERS}) or 0 * count(vigie_gpu_info)"
RUNNING_LINE = 'count(count by (holder) (vigie_holder_info{kind="job",resource!="queue"})) or 0 * count(up)'
POWER_LINE = "sum(vigie_gpu_power_watts)"
INFO = ("instance", "gpu", "uuid", "model", "vendor", "driver", "pci_bus_id")
NODE = ("instance",)
# What is asked as it is at the moment, in one question for all: each further one costs as much as all of it.
PLAIN = {
    "vigie_gpu_busy_ratio": "busy",
    "DCGM_FI_PROF_SM_ACTIVE": "sm",
    "vigie_gpu_memory_used_bytes": "memory",
    "vigie_gpu_memory_total_bytes": "memory_total",
    "vigie_gpu_power_watts": "power",
    "vigie_gpu_power_limit_watts": "power_limit",
    "vigie_gpu_temperature_celsius": "temperature",
    "vigie_gpu_clock_hertz": "clock",
    "vigie_gpu_processes": "processes",
}
GPU_QUERIES = {
    "info": BatchQuery("vigie_gpu_info", INFO),
    "plain": BatchQuery(f'{{__name__=~"{"|".join(PLAIN)}"}}', ("__name__", "instance", "gpu")),
    "busy_5m": BatchQuery(BUSY_5M),
    "busy_max": BatchQuery(BUSY_MAX),
    "sm_5m": BatchQuery("avg_over_time(DCGM_FI_PROF_SM_ACTIVE[5m])"),
    "tensor_5m": BatchQuery("avg_over_time(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE[5m])"),
    "throttled": BatchQuery("vigie_gpu_throttled == 1", ("instance", "gpu", "reason")),
    "mig": BatchQuery("vigie_gpu_mig_instance_info", ("instance", "gpu", "exported_instance", "profile")),
}
NODE_QUERIES = {
    "up": BatchQuery('up{job="node"}', NODE),
    "cpu": BatchQuery('1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[2m]))', NODE),
    "ram": BatchQuery("1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes", NODE),
    "slurm": BatchQuery("slurm_node_cpu_total", ("node", "status")),
}
SLOW = ("mig", "cpu", "ram", "slurm")  # in a large cluster these are asked less often
BEFORE_MS = 600_000
BEFORE = BatchQuery('count(up{job="node"} offset 10m)', ())
HOLDER_QUERY = BatchQuery("vigie_holder_info", ("instance", "gpu", "resource", "kind", "holder", "user"))
KNOWN_GPUS = BatchQuery("last_over_time(vigie_gpu_info[6h])", INFO)


def nodes_matcher(nodes: Iterable[str]) -> str:
    r"""Return the matcher that fits these nodes only.

    >>> print(nodes_matcher(["gpu01", "a.b"]))
    instance=~"gpu01|a\\.b"
    """
    return f"instance=~{json.dumps('|'.join(re.escape(name) for name in nodes), ensure_ascii=False)}"


def gpu_matcher(node: str, gpu: str) -> str:
    """Return the matchers that fit one GPU only."""
    return f"{label_matcher('instance', node)},{label_matcher('gpu', gpu)}"


def label_matcher(name: str, value: str) -> str:
    r"""Return the matcher that fits one value of a label.

    >>> label_matcher("user", 'a"b')
    'user="a\\"b"'
    """
    return f"{name}={json.dumps(value, ensure_ascii=False)}"
