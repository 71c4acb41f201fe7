"""NVIDIA NVLinks through NVML: state, traffic and errors of each link."""

from __future__ import annotations

from collections.abc import Iterator

from vigie.model import Metric, Sample, counter, gauge
from vigie.sources import _gpu
from vigie.sources._nvml import abi, fields
from vigie.sources._nvml.fields import FieldRow
from vigie.sources._nvml.gpu import DCGM, PERMANENT_ERRORS, NvmlGpu
from vigie.sources._nvml.library import NvmlError
from vigie.sources._nvml.samples import GpuReader, GpuReading, read_all, read_samples
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption

METRICS = (
    UP := gauge("vigie_gpu_nvlink_up", "1 if the link is active.", *_gpu.GPU, "link"),
    SENT := counter("vigie_gpu_nvlink_transmit_bytes_total", "Bytes sent over the link.", *_gpu.GPU, "link"),
    RECEIVED := counter(
        "vigie_gpu_nvlink_receive_bytes_total", "Bytes received over the link.", *_gpu.GPU, "link"
    ),
    ERRORS := counter(
        "vigie_gpu_nvlink_errors_total", "Errors of the link, by kind.", *_gpu.GPU, "link", "kind"
    ),
    BANDWIDTH := counter(
        "DCGM_FI_DEV_NVLINK_BANDWIDTH_L*",
        "Rate over NVLink * in both directions in MB/s. A rate, although DCGM declares a counter.",
        *DCGM,
    ),
    CRC_FLIT := counter(
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "Flow control CRC errors of all links.", *DCGM
    ),
    CRC_DATA := counter(
        "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "Data CRC errors of all links.", *DCGM
    ),
    REPLAY := counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "Replays of all links.", *DCGM),
    RECOVERY := counter("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "Recoveries of all links.", *DCGM),
)

TOTALS = (FieldRow(CRC_FLIT, 38), FieldRow(CRC_DATA, 45), FieldRow(REPLAY, 52), FieldRow(RECOVERY, 59))
KINDS = ("replay", "recovery", "crc_flit", "crc_data")  # by NVML's number
DATA_SENT, DATA_RECEIVED = 138, 139  # fields, in KiB


def check_bool(text: str) -> None:
    """Raise ValueError unless the text is true or false."""
    if text not in ("true", "false"):
        raise ValueError("use true or false")


LINK_RATES = SourceOption(
    "link_rates", "false", "true: also DCGM_FI_DEV_NVLINK_BANDWIDTH_L*, one series per link.", check_bool
)
LINKS = tuple(BANDWIDTH.expand(str(link)) for link in range(abi.MAX_LINKS))


def read(host: Host) -> list[Sample]:
    """Return state, traffic and errors of every link."""
    rates = host.options.get(LINK_RATES.name) == "true"
    return read_samples(host, READERS if rates else READERS_WITHOUT_RATES)


def _read_states(gpu: NvmlGpu) -> Iterator[GpuReading]:
    found = []
    for link in gpu.cache.get("links", range(abi.MAX_LINKS)):
        try:
            active = gpu.read_int("nvmlDeviceGetNvLinkState", link)
        except NvmlError as error:
            if link and error.code == abi.INVALID_ARGUMENT:
                break  # no more links
            if link and error.code in PERMANENT_ERRORS:
                continue
            raise
        found.append(link)
        yield GpuReading(UP, active, (str(link),))
    gpu.cache["links"] = found


def _read_errors(gpu: NvmlGpu) -> Iterator[GpuReading]:
    for link in gpu.cache.get("links", ()):
        for number, kind in enumerate(KINDS):
            try:
                count = gpu.read_long("nvmlDeviceGetNvLinkErrorCounter", link, number)
            except NvmlError as error:  # noqa: PERF203 - newer links lack some kinds
                if error.code not in PERMANENT_ERRORS:
                    raise
                yield GpuReading(ERRORS, None, why=str(error))
            else:
                yield GpuReading(ERRORS, count, (str(link), kind))


def _read_traffic(gpu: NvmlGpu) -> Iterator[GpuReading]:
    links: list[int] = gpu.cache.get("links", [])
    keys = [(field, link) for link in links for field in (DATA_SENT, DATA_RECEIVED)]
    answers = fields.read_fields(gpu, "links", keys)
    before: dict[int, tuple[float, int]] = gpu.cache.setdefault("traffic", {})
    for place, link in enumerate(links):
        sent, received = answers.values[2 * place : 2 * place + 2]
        if isinstance(sent, str) or isinstance(received, str):
            why = sent if isinstance(sent, str) else str(received)
            yield from (GpuReading(metric, None, why=why) for metric in (SENT, RECEIVED))
            continue
        yield GpuReading(SENT, sent * 1024, (str(link),))
        yield GpuReading(RECEIVED, received * 1024, (str(link),))
        yield _read_rate(LINKS[link], before, link, (sent + received, answers.times[2 * place]))


def _read_bytes(gpu: NvmlGpu) -> Iterator[GpuReading]:
    return (found for found in _read_traffic(gpu) if found.metric in (SENT, RECEIVED))


def _read_rate(
    metric: Metric, before: dict[int, tuple[float, int]], link: int, now: tuple[float, int]
) -> GpuReading:
    """Return the rate since the last read, by the driver's timestamps."""
    then = before.get(link)
    before[link] = now
    if then is None or now[1] <= then[1] or now[0] < then[0]:
        return GpuReading(metric, None, why="rates need two readings")
    return GpuReading(metric, (now[0] - then[0]) / ((now[1] - then[1]) / 1e6) / 1000)


READERS = (
    GpuReader((UP,), _read_states),
    GpuReader((ERRORS,), _read_errors),
    GpuReader((SENT, RECEIVED), _read_traffic),
    read_all(fields.build_fixed_fields("totals", TOTALS)),
)

READERS_WITHOUT_RATES = (*READERS[:2], GpuReader((SENT, RECEIVED), _read_bytes), *READERS[3:])

SOURCE = Source("nvidia_nvlink", METRICS, read, slow=True, every=30, options=(LINK_RATES,))
