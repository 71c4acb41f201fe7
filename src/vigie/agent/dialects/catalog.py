"""Which dialects there are, what each needs, and what makes its series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vigie.agent.bindings import BindingTracker
from vigie.agent.events.tracker import EventListener
from vigie.agent.loop import OwnTable
from vigie.agent.source_reader import SourceReader
from vigie.common.clock import Clock

MONEO, DCGM_EXPORTER = "moneo", "dcgm-exporter"
# Sources that are off by default, by the dialect that needs them.
NEEDED_SOURCES = {MONEO: ("cpu_numa",), DCGM_EXPORTER: ()}


class Dialects(NamedTuple):
    """Tables that travel with ours, and what wants to know of events."""

    tables: list[OwnTable]
    listeners: list[EventListener]


def build(
    names: Sequence[str], readers: Sequence[SourceReader], bindings: BindingTracker, clock: Clock
) -> Dialects:
    """Return the parts of the dialects that are asked for; the others are not imported."""
    made = Dialects([], [])
    if MONEO in names:
        from vigie.agent.dialects.alias import AliasTable
        from vigie.agent.dialects.moneo import ALIASES, MoneoEvents

        events = MoneoEvents(readers, bindings.jobs, clock)
        made.tables.extend([AliasTable(MONEO, ALIASES, readers, bindings.jobs).table, events.table])
        made.listeners.append(events)
    if DCGM_EXPORTER in names:
        from vigie.agent.dialects.dcgm_exporter import DcgmExporterTable

        counts = DcgmExporterTable(readers, clock)
        made.tables.append(counts.table)
        made.listeners.append(counts)
    return made
