"""A row about a node: its state, with the reason, how busy it is, and what Slurm says of it."""

from __future__ import annotations

from typing import Any

from vigie.server.outlook.picture import UNHEARD, Picture
from vigie.server.outlook.words import lasting

WHY = {
    "added": "expected, and never heard yet",
    "late": "nothing is heard for a moment",
    "lost": "nothing is heard of it",
    "stopped": "its agent was stopped",
    UNHEARD: "no sample of that moment",
}
WHY_NOW = {
    "late": "nothing has been heard of it for {}",
    "lost": "nothing has been heard of it for {}",
    "stopped": "its agent was stopped {} ago",
}


class NodeRows:
    """Makes the rows of a picture."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._slurm = {key[0]: key[1] for key in picture.all("slurm")}
        self._drained = {
            trouble.nodes[0]: trouble.facts.get("reason", "")
            for trouble in picture.troubles
            if trouble.finding.name == "node-drained" and trouble.end_ms is None
        }

    def of(self, name: str) -> dict[str, Any]:
        """Return the row of a node."""
        picture, node = self._picture, self._picture.nodes[name]
        state = picture.node_state(name)
        return {
            "name": name,
            "state": state,
            "why": self._why(name, state),
            "labels": node.labels,
            "slurm": self.slurm(name),
            "cpu": picture.number("cpu", name),
            "memory": picture.number("ram", name),
        }

    def slurm(self, name: str) -> dict[str, str] | None:
        """Return what Slurm says of a node, if it says anything."""
        found = self._slurm.get(name)
        return {"state": found, "reason": self._drained.get(name, "")} if found else None

    def _why(self, name: str, state: str) -> str:
        last = self._picture.nodes[name].last_seen_ms
        if state in WHY_NOW and last and self._picture.live:
            return WHY_NOW[state].format(lasting(self._picture.at_ms - last))
        return WHY.get(state, "")
