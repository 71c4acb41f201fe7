"""From readers to samples: what each GPU gives, with its labels; and for what it does not, the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Callable, NamedTuple, Optional

from vigie.model import Metric, Phase, Sample
from vigie.sources._gpu import pci_bus_id
from vigie.sources._host import Host
from vigie.sources._nvml.driver import OVER, Driver
from vigie.sources._nvml.gpu import HOST_LABEL, LOST, Gpu, Part
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


class Reader(NamedTuple):
    """Reads some metrics of one GPU by one kind of call."""

    metrics: tuple[Metric, ...]
    read: Callable[[Gpu], Iterable[Found]]


Absences = dict[tuple[str, str], list[int]]  # metric and reason: of which GPUs


def driver_of(host: Host) -> Driver:
    """Return the driver, or say that there is none."""
    if host.nvml is None:
        raise Unavailable("NVIDIA's driver is not part of a recorded machine")
    return host.nvml


def samples(host: Host, readers: Sequence[Reader]) -> Iterator[Sample]:
    """Yield what the readers find on every GPU, and note what they do not."""
    driver = driver_of(host)
    absent: Absences = {}
    nothing = True
    for gpu, question in driver.each(lambda gpu: _read(gpu, readers)):
        if not question.answered:
            host.note(f"GPU {gpu.index}", gpu.lost or "no answer in time; asked again when it has come")
            continue
        if gpu.lost or question.error is not None:
            host.note(f"GPU {gpu.index}", gpu.lost or question.error)
            continue
        for found in question.answer:
            if found.value is None:
                absent.setdefault((found.metric.name, found.why), []).append(gpu.index)
            else:
                nothing = False
                labels = gpu.labels(found.metric, driver.node, found.extra, found.part)
                yield _spelled(driver, found.metric), labels, found.value
    for index, error in driver.refused().items():
        host.note(f"GPU {index}", error)
    for (name, why), gpus in absent.items():
        host.note(name, f"GPU {joined(gpus)}: {why}")
    if nothing:
        reasons = dict.fromkeys([why for _, why in absent] or host.notes.values())
        raise Unavailable("; ".join(list(reasons)[:3]) or "the NVIDIA driver has no GPU")


def tell_lost(host: Host) -> None:
    """Say which GPUs are lost and which have come back, each once."""
    known: dict[str, str] = host.memory.setdefault("lost", {})
    for index, error in driver_of(host).refused().items():
        if error.code in LOST and known.get(str(index)) != str(error):
            what = f"GPU {index} cannot even be identified: {error}"
            host.happened("gpu_lost", what, phase=Phase.BEGINS, severity="critical", gpu=str(index))
            known[str(index)] = str(error)
    for gpu in driver_of(host).gpus():
        if known.pop(str(gpu.index), None):
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


def _read(gpu: Gpu, readers: Sequence[Reader]) -> list[Found]:
    found: list[Found] = []
    for reader in readers:
        try:
            found.extend(reader.read(gpu))
        except NvmlError as error:  # noqa: PERF203 - one call that fails costs only its own metrics
            if error.code in LOST or error.code in OVER:
                raise
            found.extend(Found(metric, None, why=str(error)) for metric in reader.metrics)
    return found


_spellings: dict[tuple[Metric, str], Metric] = {}


def _spelled(driver: Driver, metric: Metric) -> Metric:
    """Return the metric with the label of the host's name spelled as configured."""
    if driver.host_label == HOST_LABEL or HOST_LABEL not in metric.labels:
        return metric
    key = metric, driver.host_label
    if key not in _spellings:
        labels = tuple(driver.host_label if name == HOST_LABEL else name for name in metric.labels)
        _spellings[key] = metric._replace(labels=labels)
    return _spellings[key]
