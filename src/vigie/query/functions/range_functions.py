"""The functions of range vectors."""

from __future__ import annotations

from vigie.query.functions import over_time, rates, regression
from vigie.query.windows import RangeFunction

_SMOOTHING = RangeFunction(regression.smooth, min_samples=2, cubic=True, stackable=False)

RANGE_FUNCTIONS = {
    "rate": RangeFunction(rates.rate, min_samples=2),
    "increase": RangeFunction(rates.increase, min_samples=2),
    "delta": RangeFunction(rates.delta, min_samples=2),
    "irate": RangeFunction(rates.irate, min_samples=2),
    "idelta": RangeFunction(rates.idelta, min_samples=2),
    "changes": RangeFunction(rates.changes),
    "resets": RangeFunction(rates.resets),
    "deriv": RangeFunction(regression.deriv, min_samples=2, cubic=True, stackable=False),
    "predict_linear": RangeFunction(regression.predict_linear, min_samples=2, cubic=True, stackable=False),
    "double_exponential_smoothing": _SMOOTHING,
    "holt_winters": _SMOOTHING,  # its name before Prometheus 3
    "sum_over_time": RangeFunction(over_time.total),
    "avg_over_time": RangeFunction(over_time.average),
    "min_over_time": RangeFunction(over_time.lowest),
    "max_over_time": RangeFunction(over_time.highest),
    "count_over_time": RangeFunction(over_time.count),
    "present_over_time": RangeFunction(over_time.present),
    "first_over_time": RangeFunction(over_time.first, keeps_name=True),
    "last_over_time": RangeFunction(over_time.last, keeps_name=True),
    "stdvar_over_time": RangeFunction(over_time.variance, cubic=True),
    "stddev_over_time": RangeFunction(over_time.deviation, cubic=True),
    "quantile_over_time": RangeFunction(over_time.quantile_of, cubic=True, range_argument=1),
    "mad_over_time": RangeFunction(over_time.median_deviation, cubic=True),
    "ts_of_first_over_time": RangeFunction(over_time.time_of_first, stackable=False),
    "ts_of_last_over_time": RangeFunction(over_time.time_of_last, stackable=False),
    "ts_of_min_over_time": RangeFunction(over_time.time_of_lowest, cubic=True, stackable=False),
    "ts_of_max_over_time": RangeFunction(over_time.time_of_highest, cubic=True, stackable=False),
}
