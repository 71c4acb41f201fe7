"""Turns readings into samples with labels, and notes reasons for missing values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, NamedTuple, Optional, Union

from vigie.model import Metric, Phase, Sample
from vigie.model.node import normalize_pci_bus_id
from vigie.sources._number_lists import format_number_list
from vigie.sources._nvml.driver import OVER, NvmlDriver
from vigie.sources._nvml.gpu import HOST_LABEL, LOST, Columns, FieldRows, GpuPart, NvmlGpu, Series
from vigie.sources._nvml.library import NvmlError
from vigie.sources.core.host import Host
from vigie.sources.core.source import Unavailable


class GpuReading(NamedTuple):
    """A value, or the reason for its absence."""

    metric: Metric
    value: Optional[float]  # noqa: UP045 - evaluated on Python 3.9
    extra: tuple[str, ...] = ()  # labels after the GPU's
    part: Optional[GpuPart] = None  # noqa: UP045
    why: str = ""


Value = Union[float, str]  # a number, or the reason for its absence


class SampleBlockCache(NamedTuple):
    """Values of a fixed list of series, in order."""

    rows: FieldRows
    values: Sequence[Value]
    part: Optional[GpuPart] = None  # noqa: UP045


class GpuReader(NamedTuple):
    """Reads metrics of a GPU with one kind of call."""

    metrics: tuple[Metric, ...]
    read: Callable[[NvmlGpu], Iterable[Union[GpuReading, SampleBlockCache]]]  # noqa: UP007 - evaluated on Python 3.9


class FixedSeries(NamedTuple):
    """A fixed list of series from one kind of call, and their values."""

    rows: tuple[tuple[Metric, tuple[str, ...]], ...]
    values: Callable[[NvmlGpu], Sequence[Value]]


def build_fixed_series(
    values: Callable[[NvmlGpu], Sequence[Value]], *rows: Metric | tuple[Metric, tuple[str, ...]]
) -> FixedSeries:
    """Return series, each a metric with optional labels, and their values."""
    return FixedSeries(tuple((row, ()) if isinstance(row, Metric) else row for row in rows), values)


def read_one(function: str, *metrics: tuple[Metric, float], arguments: tuple[int, ...] = ()) -> FixedSeries:
    """Return one number for several metrics with different units."""
    worths = [worth for _, worth in metrics]

    def values(gpu: NvmlGpu) -> list[Value]:
        number = gpu.read_int(function, *arguments)
        return [number if worth == 1 else number * worth for worth in worths]

    return build_fixed_series(values, *(metric for metric, _ in metrics))


def read_all(*parts: FixedSeries) -> GpuReader:
    """Return one reader for all. A failing call affects only its own series."""
    rows = FieldRows(row for part in parts for row in part.rows)

    def read(gpu: NvmlGpu) -> tuple[SampleBlockCache]:
        values: list[Value] = []
        for part in parts:
            try:
                values += part.values(gpu)
            except NvmlError as error:  # noqa: PERF203
                if error.code in LOST or error.code in OVER:
                    raise
                values += [str(error)] * len(part.rows)
        return (SampleBlockCache(rows, values),)

    return GpuReader(rows.metrics, read)


MAX_BLOCKS = 256  # per GPU, with cached labels
MissingMetric = tuple[str, str]  # metric, reason
MissingMetrics = dict[MissingMetric, list[int]]  # of which GPUs


def get_driver(host: Host) -> NvmlDriver:
    """Return the driver, or raise Unavailable."""
    if not isinstance(host.nvml, NvmlDriver):
        raise Unavailable("a recorded machine has no NVIDIA driver")
    return host.nvml


def read_samples(host: Host, readers: Sequence[GpuReader], *, listen: bool = False) -> list[Sample]:
    """Return the samples of all GPUs, and note missing values. `listen` collects events too."""
    driver = get_driver(host)
    absent: MissingMetrics = {}
    samples: list[Sample] = []
    for gpu, question in driver.call_each(lambda gpu: _run_readers(driver, gpu, readers), listen=listen):
        if not question.done:
            host.note(f"GPU {gpu.index}", gpu.lost or "timed out; retried when its last call returns")
            continue
        if gpu.lost or question.error is not None:
            host.note(f"GPU {gpu.index}", gpu.lost or question.error)
            continue
        samples += question.result.samples
        for reason in question.result.missing:
            absent.setdefault(reason, []).append(gpu.index)
    for index, error in driver.unidentified().items():
        host.note(f"GPU {index}", error)
    _note_missing(host, absent)
    if not samples:
        said = dict.fromkeys([why for _, why in absent] or host.notes.values())
        raise Unavailable("; ".join(list(said)[:3]) or "the NVIDIA driver has no GPU")
    return samples


class _SampleCollector:
    def __init__(self, driver: NvmlDriver, gpu: NvmlGpu) -> None:
        self.samples: list[Sample] = []
        self.missing: dict[MissingMetric, None] = {}  # each once, in order
        self._driver, self._gpu = driver, gpu

    def add(self, found: GpuReading | SampleBlockCache) -> None:
        """Add a reading, or note the reason for its absence."""
        if isinstance(found, SampleBlockCache):
            self._add_block(found)
        elif found.value is None:
            self.missing[found.metric.name, found.why] = None
        else:
            series = _build_series(self._driver, self._gpu, found.metric, found.extra, found.part)
            self.samples.append((*series, found.value))

    def _add_block(self, block: SampleBlockCache) -> None:
        metrics, labels = self._columns(block)
        for metric, own, value in zip(metrics, labels, block.values):
            if isinstance(value, str):
                self.missing[metric.name, value] = None
            else:
                self.samples.append((metric, own, value))

    def _columns(self, block: SampleBlockCache) -> Columns:
        """Return metrics and labels of a block, cached."""
        kept = self._gpu.series
        key = block.rows, block.part.uuid if block.part else ""
        if key not in kept:
            if len(kept) > MAX_BLOCKS:  # MIG instances come and go
                kept.clear()
            rows = [_build_series(self._driver, self._gpu, *row, block.part) for row in block.rows.rows]
            kept[key] = [metric for metric, _ in rows], [labels for _, labels in rows]
        return kept[key]


def _note_missing(host: Host, absent: MissingMetrics) -> None:
    reasons: dict[str, list[str]] = {}
    for (name, why), gpus in absent.items():
        reasons.setdefault(name, []).append(f"GPU {format_number_list(gpus)}: {why}")
    for name, whys in reasons.items():
        host.note(name, "; ".join(whys))


def report_lost(host: Host) -> None:
    """Report each lost or recovered GPU once."""
    known: dict[str, str] = host.cache.setdefault("lost", {})
    for index, error in get_driver(host).unidentified().items():
        if error.code in LOST and known.get(str(index)) != str(error):
            what = f"GPU {index} cannot be identified: {error}"
            host.report_event("gpu_lost", what, phase=Phase.BEGINS, severity="critical", gpu=str(index))
            known[str(index)] = str(error)
    for gpu in get_driver(host).gpus():
        if known.get(str(gpu.index)) != "":  # also at the first read: it may have been lost before a restart
            known[str(gpu.index)] = ""
            host.report_event("gpu_lost", "", phase=Phase.ENDS, severity="critical", gpu=str(gpu.index))
        if known.get(gpu.uuid) == gpu.lost:
            continue
        phase = Phase.BEGINS if gpu.lost else Phase.ENDS
        what = f"GPU {gpu.index} ({gpu.name}) is not responding: {gpu.lost}" if gpu.lost else ""
        host.report_event(
            "gpu_lost",
            what,
            phase=phase,
            severity="critical",
            gpu=str(gpu.index),
            uuid=gpu.uuid,
            pci_bus_id=normalize_pci_bus_id(gpu.pci),
        )
        known[gpu.uuid] = gpu.lost


def _run_readers(driver: NvmlDriver, gpu: NvmlGpu, readers: Sequence[GpuReader]) -> _SampleCollector:
    told = _SampleCollector(driver, gpu)
    for reader in readers:
        try:
            for found in reader.read(gpu):
                told.add(found)
        except NvmlError as error:  # noqa: PERF203 - one call that fails costs only its own metrics
            if error.code in LOST or error.code in OVER:
                raise
            for metric in reader.metrics:
                told.add(GpuReading(metric, None, why=str(error)))
    return told


_renamed_metrics: dict[tuple[Metric, str], Metric] = {}


def _build_series(
    driver: NvmlDriver, gpu: NvmlGpu, metric: Metric, extra: tuple[str, ...], part: GpuPart | None
) -> Series:
    return _rename_host_label(driver, metric), gpu.labels(metric, driver.node, extra, part)


def _rename_host_label(driver: NvmlDriver, metric: Metric) -> Metric:
    """Return the metric with the configured name of the host label."""
    if driver.host_label == HOST_LABEL or HOST_LABEL not in metric.labels:
        return metric
    key = metric, driver.host_label
    if key not in _renamed_metrics:
        labels = tuple(driver.host_label if name == HOST_LABEL else name for name in metric.labels)
        _renamed_metrics[key] = metric._replace(labels=labels)
    return _renamed_metrics[key]
