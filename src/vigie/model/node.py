"""One machine of the cluster."""

from __future__ import annotations

from typing import Mapping, NamedTuple, Tuple


class Node(NamedTuple):
    """A machine is known by its name; addresses are hints."""

    name: str
    addresses: Tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
