"""A machine of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Node(NamedTuple):
    """Identified by its name; addresses are hints."""

    name: str
    addresses: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
