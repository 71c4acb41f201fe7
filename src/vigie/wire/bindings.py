"""Bindings as messages of the link."""

from __future__ import annotations

from vigie.model import Binding
from vigie.wire import messages


def build_binding_message(binding: Binding, sequence: int) -> messages.BindingMessage:
    return messages.BindingMessage(sequence, *binding[:-1], facts=dict(binding.facts))


def parse_binding(message: messages.BindingMessage) -> Binding:
    return Binding(*(getattr(message, name) for name in Binding._fields))
