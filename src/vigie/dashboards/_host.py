"""Charts of CPU, memory, disks and network, shared by the node page and dashboards."""

from __future__ import annotations

from vigie.dashboards._build import RATIO_HIGH, rate
from vigie.dashboards._choices import ON_HOST
from vigie.model.dashboard import Panel, PanelQuery

DISKS = f'{ON_HOST}, device!~"loop.*|ram.*|dm-.*"'
WIRES = f'{ON_HOST}, device!~"lo|veth.*|docker.*|br-.*|cni.*"'
_AT_WORK = f'{ON_HOST}, mode!="idle"'
REAL = f'{ON_HOST}, fstype!~"tmpfs|devtmpfs|overlay|squashfs|ramfs|rootfs"'


def meminfo(*words: str) -> dict[str, str]:
    """Return queries for fields of /proc/meminfo."""
    return {word: f"node_memory_{word}_bytes{{{ON_HOST}}}" for word in words}


CPU = Panel(
    "CPU by mode",
    "User is work. High system, iowait or steal is lost time.",
    (
        PanelQuery(
            f"sum by (mode) ({rate('node_cpu_seconds_total', _AT_WORK)})"
            f' / scalar(count(node_cpu_seconds_total{{{ON_HOST}, mode="idle"}}))',
            "{{mode}}",
        ),
    ),
    "ratio",
    ceiling=1,
    stack=True,
)
MEMORY = Panel(
    "Memory",
    "Used memory counts. Caches are released when needed.",
    (
        PanelQuery(
            f"node_memory_MemTotal_bytes{{{ON_HOST}}} - node_memory_MemAvailable_bytes{{{ON_HOST}}}", "taken"
        ),
        PanelQuery(
            f"node_memory_Cached_bytes{{{ON_HOST}}} + node_memory_Buffers_bytes{{{ON_HOST}}}",
            "files",
        ),
        PanelQuery(f"node_memory_MemTotal_bytes{{{ON_HOST}}}", "total"),
    ),
    "bytes",
)
PRESSURE = Panel(
    "Pressure",
    "Share of time with waiting tasks. Memory pressure above 0 is an early warning.",
    (
        PanelQuery(rate("node_pressure_cpu_waiting_seconds_total", ON_HOST), "CPU"),
        PanelQuery(rate("node_pressure_io_waiting_seconds_total", ON_HOST), "I/O"),
        PanelQuery(rate("node_pressure_memory_waiting_seconds_total", ON_HOST), "memory"),
    ),
    "ratio",
    needs="the pressure source (a kernel with PSI)",
)
DISK_IO = Panel(
    "Disk I/O",
    "A plateau at the disk's limit means jobs wait for it.",
    (
        PanelQuery(rate("node_disk_read_bytes_total", DISKS), "{{device}} read"),
        PanelQuery(rate("node_disk_written_bytes_total", DISKS), "{{device}} written"),
    ),
    "bytes/s",
)
SPACE = Panel(
    "Space used",
    "A full file system fails the next write. Look for steady growth.",
    (
        PanelQuery(
            f"1 - node_filesystem_avail_bytes{{{REAL}}} / node_filesystem_size_bytes{{{REAL}}}",
            "{{mountpoint}}",
        ),
    ),
    "ratio",
    thresholds=RATIO_HIGH,
    ceiling=1,
)
NETWORK = Panel(
    "Network",
    "Files and control traffic. Near line rate everything slows down.",
    (
        PanelQuery(f"{rate('node_network_receive_bytes_total', WIRES)}", "{{device}} in"),
        PanelQuery(f"{rate('node_network_transmit_bytes_total', WIRES)}", "{{device}} out"),
    ),
    "bytes/s",
)
INFINIBAND = Panel(
    "InfiniBand",
    "Ports of one node carry similar traffic. A silent one is an outlier.",
    (
        PanelQuery(rate("node_infiniband_port_data_received_bytes_total", ON_HOST), "{{device}} in"),
        PanelQuery(rate("node_infiniband_port_data_transmitted_bytes_total", ON_HOST), "{{device}} out"),
    ),
    "bytes/s",
    needs="the infiniband source (an adapter in /sys/class/infiniband)",
)
TEMPERATURES = Panel(
    "Temperatures",
    "A sensor or GPU far above the rest: check fan, filter and seating.",
    (
        PanelQuery(f"vigie_gpu_temperature_celsius{{{ON_HOST}}}", "GPU {{gpu}}"),
        PanelQuery(f"node_hwmon_temp_celsius{{{ON_HOST}}}", "{{chip}} {{sensor}}"),
    ),
    "celsius",
    needs="the hwmon source, or a GPU's",
    floor=None,
)
POWER = Panel(
    "Power",
    "GPUs of one job draw similar power. The total must stay below the rack's cooling.",
    (
        PanelQuery(f"vigie_gpu_power_watts{{{ON_HOST}}}", "GPU {{gpu}}"),
        PanelQuery(rate("node_rapl_package_joules_total", ON_HOST), "CPU package {{index}}"),
    ),
    "watts",
    stack=True,
    needs="the nvidia, amdgpu or rapl source",
)
