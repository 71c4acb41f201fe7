"""Functions of instant vectors and scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vigie.query.arrays import Flags, Floats
from vigie.query.eval_context import EvalContext
from vigie.query.functions import label_functions
from vigie.query.functions.dates import DATES
from vigie.query.functions.histograms import histogram_fraction, histogram_quantile, histogram_quantiles
from vigie.query.functions.sorting import sort, sort_by_label, sort_by_label_desc, sort_desc
from vigie.query.vectors import Value, Vector, single_series

Function = Callable[[EvalContext, Sequence[Value]], Value]

MATH: dict[str, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "exp": np.exp,
    "ln": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "sgn": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "deg": np.degrees,
    "rad": np.radians,
}


def call(name: str, context: EvalContext, arguments: Sequence[Value]) -> Value | None:
    """Call a function with evaluated arguments; None if there is no such function."""
    if name in MATH:
        return _as_vector(arguments[0]).map(MATH[name])
    if name in DATES:
        times = _as_vector(arguments[0]) if arguments else single_series(_step_seconds(context))
        return times.map(DATES[name])
    function = FUNCTIONS.get(name)
    return function(context, arguments) if function else None


def absent_series(present: Flags, labels: dict[str, str]) -> Vector:
    """Return one series that is 1 at the steps without samples."""
    return single_series(np.ones(len(present)), labels, ~present)


def _step_seconds(context: EvalContext) -> Floats:
    seconds: Floats = context.times / 1000
    return seconds


def _as_vector(value: Value) -> Vector:
    assert isinstance(value, Vector)
    return value


def _as_scalar(value: Value) -> Floats:
    assert isinstance(value, np.ndarray)
    return value


def _as_text(value: Value) -> str:
    assert isinstance(value, str)
    return value


def _larger(one: Floats, other: Floats) -> Floats:
    """Return the larger number; NaN wins over all but infinity, as in Go."""
    return np.where(np.isposinf(one) | np.isposinf(other), np.inf, np.maximum(one, other))


def _smaller(one: Floats, other: Floats) -> Floats:
    return -_larger(-one, -other)


def _clamp(_: EvalContext, arguments: Sequence[Value]) -> Value:
    vector, lowest, highest = _as_vector(arguments[0]), _as_scalar(arguments[1]), _as_scalar(arguments[2])
    possible = ~(highest < lowest)
    bounded = Vector(vector.labels, vector.values, vector.present & possible).without_empty_rows()
    return bounded.map(lambda values: _larger(lowest, _smaller(highest, values)))


def _clamp_min(_: EvalContext, arguments: Sequence[Value]) -> Value:
    lowest = _as_scalar(arguments[1])
    return _as_vector(arguments[0]).map(lambda values: _larger(lowest, values))


def _clamp_max(_: EvalContext, arguments: Sequence[Value]) -> Value:
    highest = _as_scalar(arguments[1])
    return _as_vector(arguments[0]).map(lambda values: _smaller(highest, values))


def _round(context: EvalContext, arguments: Sequence[Value]) -> Value:
    nearest = _as_scalar(arguments[1]) if len(arguments) > 1 else np.ones(len(context.times))
    with np.errstate(all="ignore"):
        inverse = 1.0 / nearest  # as Prometheus does: more exact for 0.1 and the like
    return _as_vector(arguments[0]).map(lambda values: np.floor(values * inverse + 0.5) / inverse)


def _to_scalar(_: EvalContext, arguments: Sequence[Value]) -> Value:
    vector = _as_vector(arguments[0])
    alone = vector.present.sum(axis=0) == 1
    value = np.where(vector.present, vector.values, 0.0).sum(axis=0)
    return np.where(alone, value, np.nan)


def _timestamp(context: EvalContext, arguments: Sequence[Value]) -> Value:
    return _as_vector(arguments[0]).map(lambda values: np.broadcast_to(_step_seconds(context), values.shape))


def _absent(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return absent_series(_as_vector(arguments[0]).steps_with_any(), {})


def _label_replace(_: EvalContext, arguments: Sequence[Value]) -> Value:
    target, replacement, source, regex = map(_as_text, arguments[1:])
    return label_functions.label_replace(_as_vector(arguments[0]), target, replacement, source, regex)


def _label_join(_: EvalContext, arguments: Sequence[Value]) -> Value:
    target, separator, *sources = map(_as_text, arguments[1:])
    return label_functions.label_join(_as_vector(arguments[0]), target, separator, *sources)


def _histogram_quantile(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return histogram_quantile(_as_scalar(arguments[0]), _as_vector(arguments[1]))


def _histogram_quantiles(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return histogram_quantiles(
        _as_vector(arguments[0]), _as_text(arguments[1]), [*map(_as_scalar, arguments[2:])]
    )


def _histogram_fraction(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return histogram_fraction(_as_scalar(arguments[0]), _as_scalar(arguments[1]), _as_vector(arguments[2]))


def _query_time(number: Callable[[EvalContext], int]) -> Function:
    """Return a function that gives a time of the whole query in seconds."""
    return lambda context, _: np.full(len(context.times), number(context) / 1000)


FUNCTIONS: dict[str, Function] = {
    "absent": _absent,
    "clamp": _clamp,
    "clamp_max": _clamp_max,
    "clamp_min": _clamp_min,
    "end": _query_time(lambda context: context.end),
    "histogram_fraction": _histogram_fraction,
    "histogram_quantile": _histogram_quantile,
    "histogram_quantiles": _histogram_quantiles,
    "label_join": _label_join,
    "label_replace": _label_replace,
    "max_of": lambda _, arguments: _larger(_as_scalar(arguments[0]), _as_scalar(arguments[1])),
    "min_of": lambda _, arguments: _smaller(_as_scalar(arguments[0]), _as_scalar(arguments[1])),
    "pi": lambda context, _: np.full(len(context.times), np.pi),
    "range": _query_time(lambda context: context.end - context.start),
    "round": _round,
    "scalar": _to_scalar,
    "sort": lambda _, arguments: sort(_as_vector(arguments[0])),
    "sort_by_label": lambda _, arguments: sort_by_label(
        _as_vector(arguments[0]), map(_as_text, arguments[1:])
    ),
    "sort_by_label_desc": lambda _, arguments: sort_by_label_desc(
        _as_vector(arguments[0]), map(_as_text, arguments[1:])
    ),
    "sort_desc": lambda _, arguments: sort_desc(_as_vector(arguments[0])),
    "start": _query_time(lambda context: context.start),
    "step": _query_time(lambda context: context.step),
    "time": lambda context, _: _step_seconds(context),
    "timestamp": _timestamp,
    "vector": lambda _, arguments: single_series(_as_scalar(arguments[0])),
}
