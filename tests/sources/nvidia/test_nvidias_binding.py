"""NVIDIA's own binding (nvidia-ml-py) runs on the simulated library, and reads the script from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vigie.simulation.nvml import gpu_models
from vigie.simulation.nvml.driver import SimulatedDriver

# What is asked with nvidia-ml-py of GPU 1, and what the script says.
ANSWERS: dict[str, Any] = {
    "nvmlDeviceGetCount()": 8,
    "nvmlSystemGetDriverVersion()": "550.54.15",
    "nvmlSystemGetNVMLVersion()": "12.550.54.15",
    "nvmlSystemGetCudaDriverVersion()": 12040,
    "nvmlDeviceGetName(gpu)": "NVIDIA H100 80GB HBM3",
    "nvmlDeviceGetPciInfo(gpu).busId": "00000000:2C:00.0",
    "nvmlDeviceGetPciInfo(gpu).bus": 0x2C,
    "nvmlDeviceGetMemoryInfo(gpu, version=nvmlMemory_v2).reserved": 1 << 30,
    "nvmlDeviceGetMemoryInfo(gpu, version=nvmlMemory_v2).used": 40 << 30,
    "nvmlDeviceGetMemoryInfo(gpu).used": 41 << 30,
    "nvmlDeviceGetUtilizationRates(gpu).memory": 41,
    "nvmlDeviceGetTemperature(gpu, 0)": 61,
    "nvmlDeviceGetPowerUsage(gpu)": 650500,
    "nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM)": 1980,
    "nvmlDeviceGetCurrentClocksEventReasons(gpu)": 0,
    "nvmlDeviceGetRemappedRows(gpu)": [0, 0, 0, 0],
    "nvmlDeviceGetTotalEccErrors(gpu, 1, 0)": 1,
    "nvmlDeviceGetNvLinkState(gpu, 17)": 1,
    "nvmlDeviceGetMigMode(gpu)": [0, 0],
    "[each.value.ullVal for each in nvmlDeviceGetFieldValues(gpu, [83, 82])]": [2301000, 70],
    "[each.pid for each in nvmlDeviceGetComputeRunningProcesses(gpu)]": [4711],
    "nvmlDeviceGetHandleByUUID(nvmlDeviceGetUUID(gpu)).contents is not None": True,
    "nvmlDeviceGetGpuFabricInfoV(gpu, byref(fabric)) or fabric.state": 3,
    "nvmlGpmMetricsGet(profile()).metrics[0].value": 90.25,
}
PROGRAM = f"""
import json
from pynvml import *

def profile():
    samples = nvmlGpmSampleAlloc(), nvmlGpmSampleAlloc()
    for sample in samples:
        nvmlGpmSampleGet(gpu, sample)
    wanted = c_nvmlGpmMetricsGet_t(version=NVML_GPM_METRICS_GET_VERSION, numMetrics=1)
    wanted.sample1, wanted.sample2 = samples
    wanted.metrics[0].metricId = 2
    return wanted

nvmlInit()
gpu, fabric = nvmlDeviceGetHandleByIndex(1), c_nvmlGpuFabricInfo_v2_t()
fabric.version = nvmlGpuFabricInfo_v2
print(json.dumps({{each: eval(each) for each in {list(ANSWERS)!r}}}))
nvmlShutdown()
"""


def test_nvidias_own_binding_reads_the_script(tmp_path: Path, built: Path) -> None:
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    script = [*gpu_models.h100(), "system clock 2", "1 process.0 4711 1000"]
    simulated = SimulatedDriver(tmp_path / "driver", built, script)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(simulated.library.parent)}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == ANSWERS
