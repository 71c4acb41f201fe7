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
from vigie.query.vectors import Value, Vector, single

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


def call(name: str, scope: EvalContext, arguments: Sequence[Value]) -> Value | None:
    """Call a function with evaluated arguments; None if there is no such function."""
    if name in MATH:
        return _vector(arguments[0]).map(MATH[name])
    if name in DATES:
        moments = _vector(arguments[0]) if arguments else single(_now(scope))
        return moments.map(DATES[name])
    function = FUNCTIONS.get(name)
    return function(scope, arguments) if function else None


def absence(there: Flags, labels: dict[str, str]) -> Vector:
    """Return one series that is 1 at the steps without samples."""
    return single(np.ones(len(there)), labels, ~there)


def _now(scope: EvalContext) -> Floats:
    seconds: Floats = scope.times / 1000
    return seconds


def _vector(value: Value) -> Vector:
    assert isinstance(value, Vector)
    return value


def _scalar(value: Value) -> Floats:
    assert isinstance(value, np.ndarray)
    return value


def _text(value: Value) -> str:
    assert isinstance(value, str)
    return value


def _larger(one: Floats, other: Floats) -> Floats:
    """Return the larger number; NaN wins over all but infinity, as in Go."""
    return np.where(np.isposinf(one) | np.isposinf(other), np.inf, np.maximum(one, other))


def _smaller(one: Floats, other: Floats) -> Floats:
    return -_larger(-one, -other)


def _clamp(_: EvalContext, arguments: Sequence[Value]) -> Value:
    vector, lowest, highest = _vector(arguments[0]), _scalar(arguments[1]), _scalar(arguments[2])
    possible = ~(highest < lowest)
    kept = Vector(vector.labels, vector.values, vector.present & possible).without_empty_rows()
    return kept.map(lambda values: _larger(lowest, _smaller(highest, values)))


def _clamp_min(_: EvalContext, arguments: Sequence[Value]) -> Value:
    lowest = _scalar(arguments[1])
    return _vector(arguments[0]).map(lambda values: _larger(lowest, values))


def _clamp_max(_: EvalContext, arguments: Sequence[Value]) -> Value:
    highest = _scalar(arguments[1])
    return _vector(arguments[0]).map(lambda values: _smaller(highest, values))


def _round(scope: EvalContext, arguments: Sequence[Value]) -> Value:
    nearest = _scalar(arguments[1]) if len(arguments) > 1 else np.ones(len(scope.times))
    with np.errstate(all="ignore"):
        inverse = 1.0 / nearest  # as Prometheus does: more exact for 0.1 and the like
    return _vector(arguments[0]).map(lambda values: np.floor(values * inverse + 0.5) / inverse)


def _to_scalar(_: EvalContext, arguments: Sequence[Value]) -> Value:
    vector = _vector(arguments[0])
    alone = vector.present.sum(axis=0) == 1
    value = np.where(vector.present, vector.values, 0.0).sum(axis=0)
    return np.where(alone, value, np.nan)


def _timestamp(scope: EvalContext, arguments: Sequence[Value]) -> Value:
    return _vector(arguments[0]).map(lambda values: np.broadcast_to(_now(scope), values.shape))


def _absent(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return absence(_vector(arguments[0]).steps_with_any(), {})


def _label_replace(_: EvalContext, arguments: Sequence[Value]) -> Value:
    target, replacement, source, regex = map(_text, arguments[1:])
    return label_functions.label_replace(_vector(arguments[0]), target, replacement, source, regex)


def _label_join(_: EvalContext, arguments: Sequence[Value]) -> Value:
    target, separator, *sources = map(_text, arguments[1:])
    return label_functions.label_join(_vector(arguments[0]), target, separator, *sources)


def _histogram_quantile(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return histogram_quantile(_scalar(arguments[0]), _vector(arguments[1]))


def _histogram_quantiles(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return histogram_quantiles(_vector(arguments[0]), _text(arguments[1]), [*map(_scalar, arguments[2:])])


def _histogram_fraction(_: EvalContext, arguments: Sequence[Value]) -> Value:
    return histogram_fraction(_scalar(arguments[0]), _scalar(arguments[1]), _vector(arguments[2]))


def _of_query(number: Callable[[EvalContext], int]) -> Function:
    """Return a function that gives a time of the whole query in seconds."""
    return lambda scope, _: np.full(len(scope.times), number(scope) / 1000)


FUNCTIONS: dict[str, Function] = {
    "absent": _absent,
    "clamp": _clamp,
    "clamp_max": _clamp_max,
    "clamp_min": _clamp_min,
    "end": _of_query(lambda scope: scope.end),
    "histogram_fraction": _histogram_fraction,
    "histogram_quantile": _histogram_quantile,
    "histogram_quantiles": _histogram_quantiles,
    "label_join": _label_join,
    "label_replace": _label_replace,
    "max_of": lambda _, arguments: _larger(_scalar(arguments[0]), _scalar(arguments[1])),
    "min_of": lambda _, arguments: _smaller(_scalar(arguments[0]), _scalar(arguments[1])),
    "pi": lambda scope, _: np.full(len(scope.times), np.pi),
    "range": _of_query(lambda scope: scope.end - scope.start),
    "round": _round,
    "scalar": _to_scalar,
    "sort": lambda _, arguments: sort(_vector(arguments[0])),
    "sort_by_label": lambda _, arguments: sort_by_label(_vector(arguments[0]), map(_text, arguments[1:])),
    "sort_by_label_desc": lambda _, arguments: sort_by_label_desc(
        _vector(arguments[0]), map(_text, arguments[1:])
    ),
    "sort_desc": lambda _, arguments: sort_desc(_vector(arguments[0])),
    "start": _of_query(lambda scope: scope.start),
    "step": _of_query(lambda scope: scope.step),
    "time": lambda scope, _: _now(scope),
    "timestamp": _timestamp,
    "vector": lambda _, arguments: single(_scalar(arguments[0])),
}
