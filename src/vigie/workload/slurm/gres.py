"""Generic resources: how many GPUs, and which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vigie.workload.slurm.hostlist import expand_numbers

MAX_GPUS = 1024  # of one node
# gpu:h100:2(IDX:0-1), gpu:8(S:0-1), gres:gpu:2, gres/gpu:h100:1; a name alone means one.
_GRES = re.compile(r"(?:gres[:/])?([A-Za-z]\w*)((?::[^:(),=]+)*)(?:=(\d+))?(?:\(([^)]*)\))?")


class GpuGres(NamedTuple):
    """One entry of a list: GPUs of one type."""

    number: int
    indices: tuple[int, ...] = ()  # empty when the list names none


def parse_gpus(text: str) -> list[GpuGres]:
    """Return the entries that are GPUs.

    >>> parse_gpus("gpu:h100:2(IDX:0-1),mps:100"), parse_gpus("gres:gpu:3"), parse_gpus("gpu:8(S:0-1)")
    ([GpuGres(number=2, indices=(0, 1))], [GpuGres(number=3, indices=())], [GpuGres(number=8, indices=())])
    >>> parse_gpus("gpu:0(IDX:N/A)"), parse_gpus("(null)"), parse_gpus("gpu:garbage:x")
    ([GpuGres(number=0, indices=())], [], [GpuGres(number=1, indices=())])
    """
    return list(_gpus(text))


def count_gpus(text: str) -> int:
    return sum(entry.number for entry in parse_gpus(text))


def gpu_indices(text: str) -> tuple[int, ...]:
    """Return which GPUs a list names, each once.

    >>> gpu_indices("gpu:h100:1(IDX:3),gpu:a100:2(IDX:0,5)")
    (0, 3, 5)
    """
    return tuple(sorted({index for entry in parse_gpus(text) for index in entry.indices}))


def count_tres_gpus(tres: str) -> int | None:
    """Return the GPUs of a list of trackable resources, nothing where they are not tracked.

    The plain entry counts: entries by type may be missing or, after a restart of slurmctld, wrong.

    >>> count_tres_gpus("cpu=8,mem=64G,gres/gpu=6,gres/gpu:h100=2")
    6
    >>> count_tres_gpus("cpu=1,node=1") is count_tres_gpus("(null)") is None
    True
    """
    for part in tres.split(","):
        name, _, count = part.partition("=")
        if name == "gres/gpu" and count.isdecimal():
            return int(count)
    return None


def _gpus(text: str) -> Iterator[GpuGres]:
    for found in _GRES.finditer(text):
        name, types, equal, inside = found.groups()
        if name != "gpu":
            continue
        last = (types or "").rpartition(":")[2]
        count = int(equal) if equal else int(last) if last.isdecimal() and len(last) < 7 else 1
        _, named, ranges = (inside or "").partition("IDX:")
        indices = expand_numbers(ranges, MAX_GPUS) if named else []
        yield GpuGres(count, tuple(indices))
