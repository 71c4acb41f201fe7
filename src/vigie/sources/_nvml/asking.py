"""From readers to samples: what each GPU gives, with its labels; and for what it does not, the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, NamedTuple, Optional, Union

from vigie.model import Metric, Phase, Sample
from vigie.sources._gpu import pci_bus_id
from vigie.sources._host import Host
from vigie.sources._nvml.driver import OVER, Driver
from vigie.sources._nvml.gpu import HOST_LABEL, LOST, Gpu, Part, Rows, Series
from vigie.sources._nvml.library import NvmlError
from vigie.sources._ranges import joined
from vigie.sources._source import Unavailable


class Found(NamedTuple):
    """What a reader found; without a value, why not."""

    metric: Metric
    value: Optional[float]  # noqa: UP045 - evaluated on Python 3.9
    extra: tuple[str, ...] = ()  # labels behind those that every GPU has
    part: Optional[Part] = None  # noqa: UP045
    why: str = ""


Value = Union[float, str]  # a number, or why there is none


class Block(NamedTuple):
    """What a reader found of series that are always the same, in their order."""

    rows: Rows
    values: Sequence[Value]
    part: Optional[Part] = None  # noqa: UP045


class Reader(NamedTuple):
    """Reads some metrics of one GPU by one kind of call."""

    metrics: tuple[Metric, ...]
    read: Callable[[Gpu], Iterable[Union[Found, Block]]]  # noqa: UP007 - evaluated on Python 3.9


def fixed(values: Callable[[Gpu], Sequence[Value]], *rows: Metric | tuple[Metric, tuple[str, ...]]) -> Reader:
    """Return a reader of series that are always the same, whose values a function returns in their order."""
    block = Rows((row, ()) if isinstance(row, Metric) else row for row in rows)
    return Reader(block.metrics, lambda gpu: (Block(block, values(gpu)),))


def one(function: str, *metrics: tuple[Metric, float], arguments: tuple[int, ...] = ()) -> Reader:
    """Return a reader of one number, given as some metrics in units of their own."""
    worths = [worth for _, worth in metrics]

    def values(gpu: Gpu) -> list[Value]:
        number = gpu.number(function, *arguments)
        return [number if worth == 1 else number * worth for worth in worths]

    return fixed(values, *(metric for metric, _ in metrics))


MOST_BLOCKS = 256  # of one GPU whose labels are kept
Absences = dict[tuple[str, str], list[int]]  # metric and reason: of which GPUs


def driver_of(host: Host) -> Driver:
    """Return the driver, or say that there is none."""
    if host.nvml is None:
        raise Unavailable("NVIDIA's driver is not part of a recorded machine")
    return host.nvml


def samples(host: Host, readers: Sequence[Reader], *, listen: bool = False) -> list[Sample]:
    """Return what the readers find on every GPU, and note what they do not; `listen` to events too."""
    driver = driver_of(host)
    absent: Absences = {}
    samples: list[Sample] = []
    for gpu, question in driver.each(lambda gpu: _read(gpu, readers), listen=listen):
        if not question.answered:
            host.note(f"GPU {gpu.index}", gpu.lost or "no answer in time; asked again when it has come")
            continue
        if gpu.lost or question.error is not None:
            host.note(f"GPU {gpu.index}", gpu.lost or question.error)
            continue
        for found in question.answer:
            if isinstance(found, Block):
                _take_block(driver, gpu, found, samples, absent)
            elif found.value is None:
                absent.setdefault((found.metric.name, found.why), []).append(gpu.index)
            else:
                samples.append((*_series(driver, gpu, found.metric, found.extra, found.part), found.value))
    for index, error in driver.refused().items():
        host.note(f"GPU {index}", error)
    _note_absent(host, absent)
    if not samples:
        said = dict.fromkeys([why for _, why in absent] or host.notes.values())
        raise Unavailable("; ".join(list(said)[:3]) or "the NVIDIA driver has no GPU")
    return samples


def _take_block(driver: Driver, gpu: Gpu, block: Block, samples: list[Sample], absent: Absences) -> None:
    key = block.rows, block.part.uuid if block.part else ""
    series = gpu.series.get(key)
    if series is None:
        if len(gpu.series) > MOST_BLOCKS:  # MIG instances come and go
            gpu.series.clear()
        series = gpu.series[key] = [
            _series(driver, gpu, metric, extra, block.part) for metric, extra in block.rows.rows
        ]
    for (metric, labels), value in zip(series, block.values):
        if isinstance(value, str):
            absent.setdefault((metric.name, value), []).append(gpu.index)
        else:
            samples.append((metric, labels, value))


def _note_absent(host: Host, absent: Absences) -> None:
    reasons: dict[str, list[str]] = {}
    for (name, why), gpus in absent.items():
        reasons.setdefault(name, []).append(f"GPU {joined(gpus)}: {why}")
    for name, whys in reasons.items():
        host.note(name, "; ".join(whys))


def tell_lost(host: Host) -> None:
    """Say which GPUs are lost and which have come back, each once."""
    known: dict[str, str] = host.memory.setdefault("lost", {})
    for index, error in driver_of(host).refused().items():
        if error.code in LOST and known.get(str(index)) != str(error):
            what = f"GPU {index} cannot even be identified: {error}"
            host.happened("gpu_lost", what, phase=Phase.BEGINS, severity="critical", gpu=str(index))
            known[str(index)] = str(error)
    for gpu in driver_of(host).gpus():
        if known.get(str(gpu.index)) != "":  # at the first look too: it may have been lost before a restart
            known[str(gpu.index)] = ""
            host.happened("gpu_lost", "", phase=Phase.ENDS, severity="critical", gpu=str(gpu.index))
        if known.get(gpu.uuid) == gpu.lost:
            continue
        phase = Phase.BEGINS if gpu.lost else Phase.ENDS
        what = f"GPU {gpu.index} ({gpu.name}) cannot be read: {gpu.lost}" if gpu.lost else ""
        host.happened(
            "gpu_lost",
            what,
            phase=phase,
            severity="critical",
            gpu=str(gpu.index),
            uuid=gpu.uuid,
            pci_bus_id=pci_bus_id(gpu.pci),
        )
        known[gpu.uuid] = gpu.lost


def _read(gpu: Gpu, readers: Sequence[Reader]) -> list[Found | Block]:
    found: list[Found | Block] = []
    for reader in readers:
        try:
            found.extend(reader.read(gpu))
        except NvmlError as error:  # noqa: PERF203 - one call that fails costs only its own metrics
            if error.code in LOST or error.code in OVER:
                raise
            found.extend(Found(metric, None, why=str(error)) for metric in reader.metrics)
    return found


_spellings: dict[tuple[Metric, str], Metric] = {}


def _series(driver: Driver, gpu: Gpu, metric: Metric, extra: tuple[str, ...], part: Part | None) -> Series:
    return _spelled(driver, metric), gpu.labels(metric, driver.node, extra, part)


def _spelled(driver: Driver, metric: Metric) -> Metric:
    """Return the metric with the label of the host's name spelled as configured."""
    if driver.host_label == HOST_LABEL or HOST_LABEL not in metric.labels:
        return metric
    key = metric, driver.host_label
    if key not in _spellings:
        labels = tuple(driver.host_label if name == HOST_LABEL else name for name in metric.labels)
        _spellings[key] = metric._replace(labels=labels)
    return _spellings[key]
