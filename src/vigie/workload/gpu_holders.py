"""Who holds which GPU: from the processes on it, from files that a prolog writes, and from the kubelet.

Bindings only: series of devices never multiply by who uses them. A GPU's index is the driver's own, and
CUDA_VISIBLE_DEVICES, which counts from 0 inside a job or container, is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from vigie.model import Sample, gauge
from vigie.sources.core.driver import GpuProcess, GpuUsers
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable
from vigie.workload.attribution import Attributor, Holder
from vigie.workload.job_files import read_job_files
from vigie.workload.pod_resources import KUBELET, read_pod_devices

METRICS = (
    HOLDERS := gauge(
        "vigie_gpu_holders", "Jobs, containers, pods, environments and users who hold the GPU.", "gpu"
    ),
)
OPTIONS = (
    SourceOption(
        "job_files",
        "/run/gpustat",
        "Directories in which a prolog names the job of each GPU, by blanks: jobstats' or dcgm-exporter's.",
    ),
    SourceOption("kubelet", KUBELET, "Socket at which the kubelet tells the devices of each pod."),
    SourceOption(
        "sockets", "", "Sockets of Docker or Podman, by blanks; those at the usual places if empty."
    ),
)

Key = tuple[str, str, str]  # resource, kind of holder, holder


class _Held(NamedTuple):
    """A binding to be: since when, and in which MIG instances."""

    holder: Holder
    from_ms: int
    instances: frozenset[str]


def read(host: Host) -> Iterator[Sample]:
    """Say who holds what, and yield how many hold each GPU."""
    gpus, why = _gpus(host)
    held: dict[Key, _Held] = {}
    _add_processes(host, held, gpus)
    _add_job_files(host, held, gpus)
    _add_pods(host, held, gpus)
    if not gpus and not held:
        raise Unavailable(why)
    _bind(host, held)
    for one in gpus:
        resource = f"gpu:{one.gpu}"
        yield HOLDERS, (str(one.gpu),), sum(key[0] == resource for key in held)


def _gpus(host: Host) -> tuple[list[GpuUsers], str]:
    """Return the GPUs with who is on them; one that does not answer is as it was."""
    if host.nvml is None:
        return [], "NVIDIA's driver is not part of a recorded machine"
    try:
        found = {one.gpu: one for one in host.nvml.users(host.note)}
    except Unavailable as error:
        return [], str(error)
    before: dict[int, GpuUsers] = host.cache.get("gpus", {})
    for index, known in before.items():
        if index not in found or found[index].processes is None:
            found[index] = found.get(index, known)._replace(processes=known.processes)
    host.cache["gpus"] = found
    return list(found.values()), "the NVIDIA driver has no GPU"


def _add_processes(host: Host, held: dict[Key, _Held], gpus: Sequence[GpuUsers]) -> None:
    listed: list[tuple[int, GpuProcess]] = [(one.gpu, each) for one in gpus for each in one.processes or ()]
    found = _attributor(host).attribute(dict.fromkeys(each.pid for _, each in listed))
    for gpu, each in listed:
        if each.pid in found:
            attribution = found[each.pid]
            for holder in attribution.holders():
                _add(held, f"gpu:{gpu}", holder, attribution.process.start_ms, each.instance)


def _add_job_files(host: Host, held: dict[Key, _Held], gpus: Sequence[GpuUsers]) -> None:
    places = _places(gpus)
    for directory in _option(host, OPTIONS[0]).split():
        for one in read_job_files(host, directory.strip("/")):
            gpu, instance = places.get(one.device, (one.device, one.instance))
            if gpu.isdecimal():
                _add(held, f"gpu:{gpu}", Holder("job", one.job, one.user, {}), one.from_ms, instance)


def _add_pods(host: Host, held: dict[Key, _Held], gpus: Sequence[GpuUsers]) -> None:
    places = _places(gpus)
    for one in read_pod_devices(host, _option(host, OPTIONS[1]).strip("/")):
        if one.device in places:
            gpu, instance = places[one.device]
            _add(held, f"gpu:{gpu}", Holder("pod", one.pod, "", {"container": one.container}), 0, instance)


def _places(gpus: Iterable[GpuUsers]) -> dict[str, tuple[str, str]]:
    """Return index and MIG instance of everything that has a UUID."""
    found = {}
    for one in gpus:
        found[one.uuid] = str(one.gpu), ""
        found.update({uuid: (str(one.gpu), instance) for uuid, instance in one.parts.items()})
    return found


def _add(held: dict[Key, _Held], resource: str, holder: Holder, from_ms: int, instance: str) -> None:
    key = resource, holder.kind, holder.name
    known = held.get(key)
    instances = frozenset({instance} - {""})
    if known is None:
        held[key] = _Held(holder, from_ms, instances)
        return
    begin = min(filter(None, (known.from_ms, from_ms)), default=0)
    more = Holder(
        holder.kind, holder.name, known.holder.user or holder.user, {**holder.facts, **known.holder.facts}
    )
    held[key] = _Held(more, begin, known.instances | instances)


def _bind(host: Host, held: dict[Key, _Held]) -> None:
    """Say it; who goes on holding has held since the first of all processes, ended or not."""
    before: dict[Key, int] = host.cache.get("since", {})
    since = host.cache["since"] = {}
    for key, one in held.items():
        resource, kind, name = key
        since[key] = min(filter(None, (one.from_ms, before.get(key, 0))), default=0)
        instances = {"instance": ",".join(sorted(one.instances))} if one.instances else {}
        facts = {**one.holder.facts, **instances}
        host.bind(resource, kind, name, from_ms=since[key], user=one.holder.user, **facts)


def _attributor(host: Host) -> Attributor:
    found: Attributor = host.cache.get("attributor") or Attributor(host, _option(host, OPTIONS[2]))
    host.cache["attributor"] = found
    return found


def _option(host: Host, option: SourceOption) -> str:
    return host.options.get(option.name, option.default)


SOURCE = Source("gpu_holders", METRICS, read, slow=True, options=OPTIONS)
