"""The functions of range vectors."""

from __future__ import annotations

from vigie.query.functions import over_time, rates, regression
from vigie.query.windows import RangeFunction

_SMOOTHING = RangeFunction(regression.smoothed, least=2, cubic=True, together=False)

RANGE_FUNCTIONS = {
    "rate": RangeFunction(rates.rate, least=2),
    "increase": RangeFunction(rates.increase, least=2),
    "delta": RangeFunction(rates.delta, least=2),
    "irate": RangeFunction(rates.irate, least=2),
    "idelta": RangeFunction(rates.idelta, least=2),
    "changes": RangeFunction(rates.changes),
    "resets": RangeFunction(rates.resets),
    "deriv": RangeFunction(regression.deriv, least=2, cubic=True, together=False),
    "predict_linear": RangeFunction(regression.predict_linear, least=2, cubic=True, together=False),
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
    "quantile_over_time": RangeFunction(over_time.quantile_of, cubic=True, range_at=1),
    "mad_over_time": RangeFunction(over_time.median_deviation, cubic=True),
    "ts_of_first_over_time": RangeFunction(over_time.time_of_first, together=False),
    "ts_of_last_over_time": RangeFunction(over_time.time_of_last, together=False),
    "ts_of_min_over_time": RangeFunction(over_time.time_of_lowest, cubic=True, together=False),
    "ts_of_max_over_time": RangeFunction(over_time.time_of_highest, cubic=True, together=False),
}
