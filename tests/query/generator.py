"""Makes PromQL queries over the data of datasets.py, from a seed.

Functions with jumps (floor, ==, %, count_values ...) get operands that both engines compute exactly, for a
difference in the last bit must not become one of a whole unit.
"""

from __future__ import annotations

import random
from collections.abc import Callable

RANGES = ("1m", "90s", "2m", "5m", "10m", "25m")
STEPS = ("15s", "30s", "1m", "70s")
COUNTER = "work_total"
GAUGES = ("level", "level", "small", "task", COUNTER)
SELECTORS = {
    "work_total": ('{cpu="0"}', '{instance=~"node[012]"}', '{job!="a"}', '{cpu!~"1|2"}', ""),
    "level": ('{device="sda"}', '{instance!="node3",device=~"sd."}', '{job="b"}', ""),
    "small": ('{job=~"a|b"}', '{instance=~"node.*"}', ""),
    "task": ('{id=~"[0-3]"}', '{job="a"}', ""),
    "wild": ('{instance="node1"}', ""),
}
RATES = ("rate", "increase", "irate", "resets", "changes")
DELTAS = ("delta", "idelta", "deriv", "changes", "resets", "stddev_over_time", "stdvar_over_time")
EXACT_OVER_TIME = ("min_over_time", "max_over_time", "last_over_time", "count_over_time", "present_over_time")
SMOOTH = ("abs", "sqrt", "ln", "log2", "log10", "atan", "asinh", "tanh", "sin", "cos", "deg", "rad", "exp")
UNIT = ("asin", "acos", "atanh")  # for operands between -1 and 1
JUMPS = ("floor", "ceil", "sgn", "round")
DATES = ("hour", "minute", "month", "year", "day_of_week", "day_of_month", "day_of_year", "days_in_month")
AGGREGATIONS = ("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar")
GROUPINGS = (
    "",
    " by (instance)",
    " by (job)",
    " without (instance)",
    " by (cpu, device)",
    " without (job, cpu)",
)
COMPARISONS = (">", "<", ">=", "<=", "==", "!=")


class Generator:
    """A source of queries."""

    def __init__(self, seed: int, *, nested_subqueries: bool) -> None:
        self._chance = random.Random(seed)
        self._nested_subqueries = nested_subqueries

    def query(self) -> str:
        """Return one query."""
        forms: list[tuple[Callable[[int], str], int]] = [
            (self._vector, 14),
            (self._ordered, 1),
            (self._scalar, 1),
            (self._histogram, 1),
            (self._failing, 1),
        ]
        form = self._chance.choices([form for form, _ in forms], [weight for _, weight in forms])[0]
        return form(self._chance.choice((1, 2, 2, 3)))

    def _pick(self, *options: str) -> str:
        return self._chance.choice(options)

    def _selector(self, name: str, modified: bool = True) -> str:
        text = name + self._pick(*SELECTORS[name])
        return text + (self._modifier() if modified else "")

    def _modifier(self) -> str:
        return self._pick(
            "",
            "",
            "",
            "",
            " offset 3m",
            " offset -90s",
            " @ 1700006000.5",
            " @ end()",
            " @ start() offset 2m",
        )

    def _range(self, name: str) -> str:
        return f"{self._selector(name, modified=False)}[{self._pick(*RANGES)}]{self._modifier()}"

    def _subquery(self, depth: int) -> str:
        inner = self._vector(depth) if self._nested_subqueries else self._plain()
        modifier = self._modifier()
        if "@" in inner and "-" in modifier:
            modifier = ""  # 2.42 takes the wrong time when such a subquery happens to start with the query
        return f"({inner})[{self._pick(*RANGES)}:{self._pick(*STEPS, '')}]{modifier}"

    def _plain(self) -> str:
        """Return a vector without a subquery inside."""
        return self._pick(self._exact(0), self._rate(), self._delta(), self._math(self._exact(0)))

    def _exact(self, depth: int) -> str:
        """Return a vector that any engine computes to the last bit."""
        name = self._pick(*GAUGES, "wild")
        if depth <= 0:
            return self._selector(name)
        form = self._chance.randrange(5)
        if form == 0:
            return f"{self._pick(*EXACT_OVER_TIME)}({self._range(name)})"
        if form == 1:
            return f"{self._pick('min', 'max', 'count', 'group')}{self._grouping()}({self._exact(depth - 1)})"
        if form == 2:
            return f"{self._pick(*JUMPS)}({self._exact(depth - 1)})"
        if form == 3:
            return f"clamp({self._exact(depth - 1)}, {self._number()}, {self._number()})"
        return f"({self._exact(depth - 1)} {self._pick(*COMPARISONS)} bool {self._number()})"

    def _grouping(self) -> str:
        return self._pick(*GROUPINGS)

    def _number(self) -> str:
        return self._pick("-3", "0", "1.5", "2", "17", "400", "1e3", "-Inf", "NaN")

    def _rate(self) -> str:
        return f"{self._pick(*RATES)}({self._range(COUNTER)})"

    def _delta(self) -> str:
        return f"{self._pick(*DELTAS)}({self._range(self._pick('level', 'small'))})"

    def _vector(self, depth: int) -> str:
        if depth <= 0:
            return self._pick(self._exact(0), self._exact(1), self._rate(), self._delta())
        form = self._chance.choice(
            (
                self._aggregated,
                self._aggregated,
                self._over_time,
                self._over_subquery,
                self._arithmetic,
                self._joined,
                self._filtered,
                self._set,
                self._unary,
                self._jumpy,
                self._labelled,
                self._dated,
                self._absent,
            )
        )
        return form(depth - 1)

    def _aggregated(self, depth: int) -> str:
        operator = self._pick(*AGGREGATIONS)
        inner = self._vector(depth)
        if operator.startswith("std"):  # 2.42 gives 0 for the spread of one infinity
            inner = self._pick(self._selector("level"), self._rate(), self._delta())
        if self._chance.random() < 0.15:
            return f"quantile{self._grouping()}({self._pick('0', '0.3', '0.95', '1', '-1', '2')}, {inner})"
        return f"{operator}{self._grouping()}({inner})"

    def _over_time(self, _: int) -> str:
        name = self._pick("level", "small", COUNTER, "wild")
        smooth, length = self._pick("level", "small"), self._pick(*RANGES)
        return self._pick(
            f"{self._pick(*EXACT_OVER_TIME)}({self._range(name)})",
            f"sum_over_time({self._range(name)})",
            f"avg_over_time({self._range(name)})",
            f"quantile_over_time({self._pick('0.1', '0.5', '1', '-1', '3')}, {self._range(name)})",
            f"predict_linear({smooth}[{length}] offset {self._pick('0s', '2m')}, {self._pick('60', '-30')})",
            f"holt_winters({self._range(smooth)}, {self._pick('0.1', '0.5')}, {self._pick('0.2', '0.9')})",
        )

    def _over_subquery(self, depth: int) -> str:
        name = self._pick(
            *EXACT_OVER_TIME, "sum_over_time", "avg_over_time", "delta", "idelta", "quantile_over_time"
        )
        first = "0.4, " if name == "quantile_over_time" else ""
        return f"{name}({first}{self._subquery(depth)})"

    def _arithmetic(self, depth: int) -> str:
        operator = self._pick("+", "-", "*", "/")
        number = self._pick("2", "-0.5", "1e3", "Inf", self._scalar(0))
        sides = [self._vector(depth), number]
        if operator != "/":  # by a number that is nearly zero the last bit decides everything
            self._chance.shuffle(sides)
        return f"({sides[0]} {operator} {sides[1]})"

    def _joined(self, depth: int) -> str:
        operator = self._pick("+", "-", "*", "/")
        left, right = self._selector(COUNTER), f"rate({COUNTER}[5m])"
        return self._pick(
            f"({left} {operator} {right})",
            f"(sum by (instance) ({self._vector(depth)}) {operator} on (instance) max by (instance) (level))",
            f"({self._selector('level')} {operator} on (instance) group_left (version) facts)",
            f"(facts {operator} on (instance, job) group_right () {self._selector('level')})",
            f"({self._selector('small')} {operator} ignoring (cpu, x) sum without (cpu) ({COUNTER}))",
            f"({self._selector('level')} {self._pick(*COMPARISONS)} on (instance) group_left small)",
            f"({self._selector('level')} {self._pick(*COMPARISONS)} bool level offset 1m)",
            f"({self._selector('level')} {operator} ignoring (device, version) group_left (version) facts)",
            f"({self._selector('level')} {operator} on (instance) group_left (version, nothing, job) facts)",
            f"(facts {self._pick(*COMPARISONS)} bool on (instance) group_right (version) level)",
            f"(level {self._pick(*COMPARISONS)} on (instance) group_left (__name__) small)",
            f"({self._selector('task')} {operator} on (id) sum by (id) ({self._selector('task')}))",
            f"sum by (job) ({self._vector(depth)}) {operator} on (job) group_right () small",
        )

    def _filtered(self, depth: int) -> str:
        operator = self._pick(">", "<", "!=")  # with numbers that no spread of whole numbers is
        if self._chance.random() < 0.4:
            return f"({self._pick('-12.3456789', '3.2187631')} {operator} {self._exact(depth)})"
        return f"({self._vector(depth)} {operator} {self._pick('-12.3456789', '0.0123456789', '3.2187631')})"

    def _set(self, depth: int) -> str:
        operator = self._pick("and", "or", "unless")
        matching = self._pick("", " on (instance)", " ignoring (cpu, device)", " on ()")
        right = f"({self._exact(depth)} > 2)"
        if self._chance.random() < 0.3:  # and and unless bind more than or
            right = f"{right} {self._pick('and', 'or', 'unless')} {self._exact(0)} or vector(1)"
        return f"({self._vector(depth)} {operator}{matching} {right})"

    def _unary(self, depth: int) -> str:
        # 2.42 forgets to drop the name after atan2, so its operand has none.
        return self._pick(
            f"({self._rate()} atan2 {self._number()})",
            f"(-{self._exact(depth)})",
            f"(- - {self._exact(depth)} + +{self._exact(0)})",
            f"(-{self._exact(depth)} ^ 2 ^ 0.5 * -2)",
            self._math(self._vector(depth)),
        )

    def _math(self, inner: str) -> str:
        name = self._pick(*SMOOTH, *UNIT, "timestamp", "sinh", "cosh", "tan", "acosh")
        if name in UNIT:
            inner = f"({inner} / 2e3)"
        if name == "tan":  # far from its poles
            inner = f"clamp({inner}, -1, 1)"
        if name == "acosh":
            inner = f"clamp_min({inner}, 1.5)"
        if name in ("exp", "sinh", "cosh", "sin", "cos"):
            inner = f"clamp({inner}, -20, 20)"
        if name == "timestamp" and "@" in inner:
            inner = "level"  # 2.42 forgets the offset beside @
        return f"{name}({inner})"

    def _jumpy(self, depth: int) -> str:
        form = self._chance.randrange(5)
        if form == 0:
            return f'count_values{self._grouping()}("value", {self._exact(depth)})'
        if form == 1:
            return f"({self._exact(depth)} % {self._pick('2', '-7', '0.5', 'Inf', '0')})"
        if form == 2:
            return f"round({self._exact(depth)}, {self._pick('0.1', '5', '-2', '0')})"
        if form == 3:
            return f"({self._exact(depth)} ^ {self._pick('2', '-1', '0.5', '0')})"
        return f"{self._pick('clamp_min', 'clamp_max')}({self._exact(depth)}, {self._number()})"

    def _labelled(self, depth: int) -> str:
        inner = self._vector(depth)
        return self._pick(
            f'label_replace({inner}, "n", "x$1-${{1}}", "instance", "node(.)")',
            f'label_replace({inner}, "job", "", "job", "(?P<w>a)")',
            f'label_replace({inner}, "w", "$w$$", "job", "(?P<w>a|b)")',
            f'label_replace({inner}, "instance", "same", "instance", "node[01]")',
            f'label_join({inner}, "all", "/", "job", "instance", "nothing")',
            f'label_replace({inner}, "device", "", "device", ".*")',  # often not told apart any more
            f'label_replace({inner}, "__name__", "$1$2", "instance", "(?i)(NODE).*")',
            f'label_join({inner}, "instance", "", "job")',
        )

    def _dated(self, _: int) -> str:
        return self._pick(f"{self._pick(*DATES)}()", f"{self._pick(*DATES)}(started_seconds)")

    def _absent(self, _: int) -> str:
        return self._pick(
            f"vector({self._scalar(0)})",
            'absent(nothing{a="b",c=~"d",e="f",e="g"})',
            f"absent({self._selector('level')} > 900)",
            f'absent_over_time({COUNTER}{{cpu="0",instance="node0"}}[1m])',
            'absent_over_time(level{device="sda",instance="node1"}[1m:15s])',
            'absent_over_time(nothing{x="y"}[5m])',
            f'absent((nothing{{a="b",a!="c",d="",f="g"}}{self._modifier()}))',
            f'absent(sum(task{{id="3",job="a"}} {self._pick("> 20", "offset 4m", "< 0")}))',
            f'absent(task{{id="{self._pick("1", "4")}",instance="node2"}})',
        )

    def _scalar(self, _: int) -> str:
        return self._pick(
            "time()",
            "scalar(sum(small))",
            "(3 ^ 2 ^ 0.5)",
            "(7 % -4)",
            "pi()",
            "-(1 < bool 2)",
            f"({self._number()} {self._pick(*COMPARISONS)} bool time() / 2)",
            f"(scalar(small{{instance='node1'}}) {self._pick(*COMPARISONS)} bool {self._number()})",
            "(0x1F - 010 ^ .5 ^ 2e0)",
            "-2 ^ 2 * +3",
            "scalar(level)",
        )

    def _ordered(self, _: int) -> str:
        inner = self._pick("level", f"rate({COUNTER}[5m])", 'level{device="sda"}')
        return self._pick(
            f"sort({inner})",
            f"sort_desc({inner})",
            f"topk({self._pick('1', '3', '100', '0')}, {inner})",
            f"bottomk({self._pick('2', '2.9')}, {inner})",
            f"topk by (job) (1, {inner})",
            f"bottomk without (instance) (1, {inner} {self._pick('>', '<')} 300)",
            f"topk by (device) (scalar(count(small > 0)), {inner})",
            f"quantile by (job) (scalar(small{{instance='node1'}}) / 4, {inner})",
        )

    def _histogram(self, _: int) -> str:
        share = self._pick("0.5", "0.95", "0", "1", "-1", "2", "NaN", "scalar(small{instance='node1'})")
        inner = self._pick(
            "took_bucket",
            "rate(took_bucket[5m])",
            "sum by (le, job) (rate(took_bucket[2m]))",
            'took_bucket{le!="+Inf"}',
            'took_bucket{le=~"5|.Inf"}',
            "-took_bucket",
            "took_bucket * 0",
            'label_replace(took_bucket, "le", "-$1", "le", "(0.*)")',
            'label_replace(took_bucket, "le", "1.0", "le", "5")',
            '(took_bucket or label_replace(took_bucket, "__name__", "other", "", ""))',
            "sum without (le) (took_bucket)",
        )
        return f"histogram_quantile({share}, {inner})"

    def _failing(self, _: int) -> str:
        """Return a query that is wrong, or becomes so with some data."""
        return self._pick(
            f"({COUNTER} + on (instance) level)",
            "(level * on (instance) small)",
            '{instance="node1"} + 1',
            'rate({instance="node1"}[5m])',
            '-{instance=~"node1"}',
            'label_replace(level, "device", "x", "", "")',
            'label_replace(level, "a-b", "x", "", "")',
            'label_replace(level, "a", "x", "instance", "(")',
            'count_values("a-b", small)',
            "topk(NaN, level)",
            "topk(1e300, level)",
            "holt_winters(level[5m], 2, 0.5)",
            "sum(level",
            "rate(level)",
            "level[5m]",
            '"text"',
            "1 > 2",
            "{}",
            "(level / on (instance) group_left (device) level)",
            "(small + on (job) group_left level)",
            "nosuchfunction(level)",
        )
