"""Shared vocabulary. Imports no other package and does no I/O."""

from vigie.model.binding import Binding
from vigie.model.event import Event, EventChange, Phase
from vigie.model.frame import Frame
from vigie.model.metric import Metric, Sample, counter, gauge, info, untyped
from vigie.model.nan import ABSENT, NAN, STALE, is_absent, is_stale
from vigie.model.node import Node
from vigie.model.series_name import format_series
from vigie.model.table import Table

__all__ = [
    "ABSENT",
    "NAN",
    "STALE",
    "Binding",
    "Event",
    "EventChange",
    "Frame",
    "Metric",
    "Node",
    "Phase",
    "Sample",
    "Table",
    "counter",
    "format_series",
    "gauge",
    "info",
    "is_absent",
    "is_stale",
    "untyped",
]
