"""Bindings as messages of the link."""

from __future__ import annotations

from collections.abc import Sequence

from vigie.model import Binding
from vigie.wire.messages import BindingMessage, HeldBindings

PART_ROWS = 1024  # bindings of one message, of at most 7.5 kB each: the agent cuts their facts


def build_binding_message(binding: Binding, sequence: int) -> BindingMessage:
    """Return what is sent for a binding."""
    facts, names = dict(binding.facts), list(binding.node_names)
    return BindingMessage(sequence, *binding[:-2], facts=facts, node_names=names)


def build_held_messages(held: Sequence[Binding]) -> list[HeldBindings]:
    """Return what is sent for all that is held: messages below the size limit."""
    parts = [held[begin : begin + PART_ROWS] for begin in range(0, len(held), PART_ROWS)] or [held]
    rows = [[build_binding_message(binding, 1) for binding in part] for part in parts]
    last = len(rows) - 1
    return [HeldBindings(part, more=number < last) for number, part in enumerate(rows)]


def parse_binding(message: BindingMessage) -> Binding:
    binding = Binding(*(getattr(message, name) for name in Binding._fields))
    return binding._replace(node_names=tuple(message.node_names))
