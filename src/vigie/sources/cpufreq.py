"""CPU frequencies and governors, from sysfs."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Sample, gauge
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, Unavailable
from vigie.sources.core.tree import parse_number

METRICS = (
    CURRENT := gauge("node_cpu_frequency_hertz", "Frequency reported by the hardware. Requires root.", "cpu"),
    LOWEST := gauge("node_cpu_frequency_min_hertz", "Minimum hardware frequency.", "cpu"),
    HIGHEST := gauge("node_cpu_frequency_max_hertz", "Maximum hardware frequency.", "cpu"),
    AVERAGE := gauge("node_cpu_frequency_avg_hertz", "Average frequency since the last read.", "cpu"),
    SCALED := gauge("node_cpu_scaling_frequency_hertz", "Current frequency according to the kernel.", "cpu"),
    FLOOR := gauge("node_cpu_scaling_frequency_min_hertz", "Minimum frequency allowed by the policy.", "cpu"),
    CEILING := gauge(
        "node_cpu_scaling_frequency_max_hertz", "Maximum frequency allowed by the policy.", "cpu"
    ),
    GOVERNOR := gauge(
        "node_cpu_scaling_governor",
        "1 for the active governor, 0 for available ones.",
        "cpu",
        "governor",
    ),
)

# Files in kHz.
FREQUENCIES = (
    ("cpuinfo_cur_freq", CURRENT),
    ("cpuinfo_min_freq", LOWEST),
    ("cpuinfo_max_freq", HIGHEST),
    ("cpuinfo_avg_freq", AVERAGE),
    ("scaling_cur_freq", SCALED),
    ("scaling_min_freq", FLOOR),
    ("scaling_max_freq", CEILING),
)
CPUS = "devices/system/cpu"


def read(host: Host) -> Iterator[Sample]:
    """Yield the frequencies of every CPU. Some kernels take 20 ms for one."""
    refused: set[str] = set()
    found = False
    for name in host.sys.list_directory(CPUS):
        path = f"{CPUS}/{name}/cpufreq/"
        if name.startswith("cpu") and name[3:].isdigit() and host.sys.exists(path):
            found = True
            yield from _read_frequencies(host, name[3:], path, refused)
            yield from _read_governors(host, name[3:], path)
    if not found:
        raise Unavailable("the kernel does not control CPU frequencies")


def _read_frequencies(host: Host, cpu: str, path: str, refused: set[str]) -> Iterator[Sample]:
    for file, metric in FREQUENCIES:
        if file in refused:
            continue
        try:
            value = parse_number(host.sys.read(path + file))
        except BlockingIOError:  # a sleeping core has no average
            continue
        except OSError as error:
            host.sys.note_error(path + file, error)
            if isinstance(error, PermissionError):  # the other cores fail alike
                refused.add(file)
            continue
        yield metric, (cpu,), None if value is None else value * 1000


def _read_governors(host: Host, cpu: str, path: str) -> Iterator[Sample]:
    chosen = host.sys.read_text(path + "scaling_governor")
    if chosen:
        for governor in (host.sys.read_text(path + "scaling_available_governors") or chosen).split():
            yield GOVERNOR, (cpu, governor), int(governor == chosen)


SOURCE = Source("cpufreq", METRICS, read, slow=True, every=30)
