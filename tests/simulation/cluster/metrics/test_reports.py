from __future__ import annotations

import numpy as np

from vigie.simulation.cluster.machines import MACHINES
from vigie.simulation.cluster.metrics.columns import Column
from vigie.simulation.cluster.metrics.reports import report_columns
from vigie.simulation.cluster.scenario import MINUTE, Scenario

NOW = 1_794_808_800_000
STORY_OF = Scenario(MACHINES, NOW, 1)
TIMES = np.arange(NOW - 180 * MINUTE, NOW + 1, MINUTE, dtype=np.int64)


def _reported(node: str, measure: str, gpu: int = 0) -> Column:
    machine = next(one for one in MACHINES if one.name == node)
    found = [
        column
        for column in report_columns(STORY_OF, machine, TIMES)
        if column.labels[:1] == (measure,) and column.labels[2] == str(gpu)
    ]
    return found[0]


def _median(column: Column, begin: int, end: int = 0) -> float:
    return float(np.median(column.values[STORY_OF.during(TIMES, begin, end)]))


def test_straggler_makes_the_steps_of_every_rank_longer() -> None:
    for node in ("gpu01", "gpu03"):
        took = _reported(node, "step_seconds")
        assert 1.7 < _median(took, -45) / _median(took, -130, -60) < 1.95  # 1980 of 1095 MHz


def test_starved_job_trains_at_a_third_of_its_rate() -> None:
    rate = _reported("gpu07", "samples_per_second")
    assert 0.28 < _median(rate, -100) / _median(rate, -165, -125) < 0.38
    mfu = _reported("gpu07", "mfu")
    assert _median(mfu, -100) < 0.2 < _median(mfu, -165, -125) < 0.5


def test_hung_job_reports_no_new_step() -> None:
    steps = _reported("gpu05", "step").values
    assert len(set(steps[-8:].tolist())) == 1
    assert np.all(np.diff(steps[:-15]) > 0)


def test_loss_sinks_while_a_job_trains() -> None:
    loss = _reported("gpu07", "loss")
    assert _median(loss, -20) < _median(loss, -165, -150)


def test_ranks_are_numbered_across_the_nodes_of_a_job() -> None:
    assert _reported("gpu03", "loss", gpu=5).labels == ("loss", "21", "5", "31435", "4211", "alice")


def test_jobs_that_do_not_train_report_nothing() -> None:
    machine = next(one for one in MACHINES if one.name == "gpu06")
    jobs = {column.labels[4] for column in report_columns(STORY_OF, machine, TIMES) if column.labels}
    assert jobs == {"4203", "4238"}
