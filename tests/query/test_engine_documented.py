"""Every function, aggregation and operator that Prometheus 3 documents for floats is known to the engine."""

from __future__ import annotations

import pytest

from tests.query.series import MINUTE
from tests.query.series import engine as make_engine
from vigie.query.engine import Engine
from vigie.query.errors import BadDataError, ExecutionError

# The kinds of arguments, and the functions that take them: v a vector, m a range, s a number, t a text,
# d label matchers; ? if the last may be left out, * if it may be repeated.
# From https://prometheus.io/docs/prometheus/latest/querying/functions/
DOCUMENTED = """
    v     abs absent ceil exp floor ln log2 log10 scalar sgn sort sort_desc sqrt timestamp
    v     acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh deg rad
    v?    day_of_month day_of_week day_of_year days_in_month hour minute month year
    m     absent_over_time changes delta deriv idelta increase irate rate resets
    m     avg_over_time min_over_time max_over_time sum_over_time count_over_time stddev_over_time
    m     stdvar_over_time last_over_time present_over_time mad_over_time first_over_time
    m     ts_of_min_over_time ts_of_max_over_time ts_of_last_over_time ts_of_first_over_time
    -     pi time start end step range
    ss    max_of min_of
    vss   clamp
    vs    clamp_max clamp_min
    mss   double_exponential_smoothing holt_winters
    ssv   histogram_fraction
    sv    histogram_quantile
    vts*  histogram_quantiles
    vd?   info
    vttt* label_join
    vtttt label_replace
    ms    predict_linear
    sm    quantile_over_time
    vs?   round
    vt*   sort_by_label sort_by_label_desc
    s     vector
"""
FUNCTIONS = {
    name: kinds.strip("-")
    for line in DOCUMENTED.strip().splitlines()
    for kinds, *names in [line.split()]
    for name in names
}
ARGUMENTS = {"v": "x", "m": "x[5m]", "s": "0.5", "t": '"a"', "d": '{a=~".*"}'}
NATIVE = ("histogram_avg", "histogram_count", "histogram_sum", "histogram_stddev", "histogram_stdvar")
AGGREGATIONS = {
    **dict.fromkeys(("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar"), "{}"),
    **dict.fromkeys(("topk", "bottomk", "limitk", "limit_ratio", "quantile"), "0.5, {}"),
    "count_values": '"v", {}',
}
OPERATORS = ("+", "-", "*", "/", "%", "^", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless", "atan2")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return make_engine({'x{a="1",le="+Inf"}': [1.0, 2.0, 3.0], 'x{a="1",le="1"}': [1.0, 2.0, 3.0]})


def _arguments(kinds: str) -> list[str]:
    return [ARGUMENTS[kind] for kind in kinds if kind not in "?*"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documented_function_is_answered(name: str, engine: Engine) -> None:
    kinds = FUNCTIONS[name]
    given = _arguments(kinds)
    calls = [given, given[:-1]] if kinds.endswith("?") else [given]
    calls += [[*given, ARGUMENTS[kinds[-2]].replace("a", "b")]] if kinds in ("vttt*", "vt*") else []
    for arguments in calls:
        assert engine.instant(f"{name}({', '.join(arguments)})", 2 * MINUTE).kind in (
            "vector",
            "scalar",
        )
        engine.range(f"{name}({', '.join(arguments)})", 0, 2 * MINUTE, MINUTE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_documented_function_refuses_other_numbers_of_arguments(name: str, engine: Engine) -> None:
    kinds = FUNCTIONS[name]
    given = _arguments(kinds)
    fewest = len(given) - kinds.endswith("?")
    wrong = [[*given, "x"]] if not kinds.endswith("*") else []
    if fewest and name not in ("label_join", "sort_by_label", "sort_by_label_desc"):
        wrong.append(given[: fewest - 1])
    for arguments in wrong:
        with pytest.raises(BadDataError, match="argument"):
            engine.instant(f"{name}({', '.join(arguments)})", 0)


@pytest.mark.parametrize("name", NATIVE)
def test_function_of_native_histograms_is_refused_with_the_reason(name: str, engine: Engine) -> None:
    with pytest.raises(ExecutionError, match="native histograms are not stored"):
        engine.instant(f"{name}(x)", 0)


@pytest.mark.parametrize("grouping", ["", " by (a)", " without (le)"])
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_documented_aggregation_is_answered(name: str, grouping: str, engine: Engine) -> None:
    inside = AGGREGATIONS[name].format("x")
    assert engine.instant(f"{name}{grouping}({inside})", 0).kind == "vector"
    assert engine.instant(f"{name}({inside}){grouping}", 0).kind == "vector"
    with pytest.raises(BadDataError, match="number of arguments"):
        engine.instant(f"{name}{grouping}({inside}, x)", 0)


@pytest.mark.parametrize("operator", OPERATORS)
def test_documented_operator_is_answered(operator: str, engine: Engine) -> None:
    for matching in ("", "on (a, le)", "ignoring (b)"):
        assert engine.instant(f"x {operator} {matching} x", 0).kind == "vector"
    if operator not in ("and", "or", "unless"):
        assert engine.instant(f"x {operator} on (a) group_left () sum by (a) (x)", 0).kind == "vector"
        assert engine.instant(f"sum by (a) (x) {operator} on (a) group_right () x", 0).kind == "vector"
        number = (
            f"1 {operator} bool 2" if operator in ("==", "!=", ">", "<", ">=", "<=") else f"1 {operator} 2"
        )
        assert engine.instant(number, 0).kind == "scalar"
