"""Who makes a request."""

from __future__ import annotations

from typing import NamedTuple


class Identity(NamedTuple):
    """Who somebody is: viewer, user, admin, writer, node or join, and the name.

    Of a node it is the node's name, or several with commas between them for a key that is valid for a set.
    """

    role: str
    name: str
