"""Ports of InfiniBand and RoCE."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.machines import HERE
from tests.sources.conftest import Machine, Samples
from vigie.sources._infiniband_counters import ROWS
from vigie.sources.core.source import Unavailable
from vigie.sources.infiniband import SOURCE

PORT = "sys/class/infiniband/mlx5_0/ports/1"
ONE = f"""\
-- {PORT}/state --
4: ACTIVE
-- {PORT}/phys_state --
5: LinkUp
-- {PORT}/rate --
400 Gb/sec (4X NDR)
-- {PORT}/counters/port_rcv_data --
25
-- {PORT}/counters/port_xmit_data --
N/A (no PMA)
-- {PORT}/counters/symbol_error ! EINVAL --
-- {PORT}/counters/link_downed --
2
-- {PORT}/hw_counters/lifespan --
10
"""
HERE_IS = '{device="mlx5_0",port="1"}'

# What Moneo reads of InfiniBand, and what it is here.
MONEO = {
    "port_xmit_data": "node_infiniband_port_data_transmitted_bytes_total",
    "port_rcv_data": "node_infiniband_port_data_received_bytes_total",
    "port_xmit_discards": "node_infiniband_port_discards_transmitted_total",
    "port_rcv_errors": "node_infiniband_port_errors_received_total",
    "port_xmit_constraint_errors": "node_infiniband_port_constraint_errors_transmitted_total",
    "port_rcv_constraint_errors": "node_infiniband_port_constraint_errors_received_total",
}


def test_words_become_bytes_and_a_bad_file_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(ONE)
    assert samples(SOURCE, host) == {
        'node_infiniband_info{device="mlx5_0"}': 1,
        f"node_infiniband_state_id{HERE_IS}": 4,
        f"node_infiniband_physical_state_id{HERE_IS}": 5,
        f"node_infiniband_rate_bytes_per_second{HERE_IS}": 50e9,
        f"node_infiniband_port_data_received_bytes_total{HERE_IS}": 100,
        f"node_infiniband_link_downed_total{HERE_IS}": 2,
        f"node_infiniband_lifespan_seconds{HERE_IS}": 0.01,
    }
    assert len(host.notes) == 1  # "N/A" is an answer, EINVAL a failure


@pytest.mark.parametrize(
    ("state", "number"),
    [("1: DOWN", 1), ("2: INIT", 2), ("3: ARMED", 3), ("5: ACTIVE_DEFER", 5), ("DOWN", None)],
)
def test_a_port_in_any_state_is_told(
    machine: Machine, samples: Samples, state: str, number: int | None
) -> None:
    found = samples(SOURCE, machine(ONE.replace("4: ACTIVE", state)))
    assert found.get(f"node_infiniband_state_id{HERE_IS}") == number
    assert found[f"node_infiniband_physical_state_id{HERE_IS}"] == 5


def test_an_adapter_that_comes_and_goes_is_noticed(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(ONE)
    samples(SOURCE, host)
    (tmp_path / "sys/class/infiniband/mlx5_0").rename(tmp_path / "sys/class/infiniband/mlx5_9")
    assert 'node_infiniband_state_id{device="mlx5_9",port="1"}' in samples(SOURCE, host)


def test_without_adapters_the_reason_is_told(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable):
        samples(SOURCE, machine("-- sys/class/infiniband/ --\n"))


@pytest.mark.parametrize(("file", "name"), MONEO.items())
def test_every_counter_of_moneo_is_here(file: str, name: str) -> None:
    assert {row.metric.name for row in ROWS if row.file == f"counters/{file}"} == {name}
    assert name in {metric.name for metric in SOURCE.metrics}


def test_the_physical_state_of_moneo_is_here_with_every_state(machine: Machine, samples: Samples) -> None:
    series = f"node_infiniband_physical_state_id{HERE_IS}"
    assert samples(SOURCE, machine(ONE))[series] == 5  # Moneo: LinkUp is 1
    assert samples(SOURCE, machine(ONE.replace("5: LinkUp", "3: Disabled")))[series] == 3  # it ends there


def test_the_recorded_fabric_has_every_counter_that_we_know() -> None:
    text = (HERE / "mi300x/fabric.txt").read_text()
    # No driver has both this and the other 21.
    assert [row.file for row in ROWS if f"/{row.file} --" not in text] == ["counters/port_rcv_discards"]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["state", "phys_state", "rate", "counters/port_rcv_data", "hw_counters/lifespan"]),
    st.one_of(st.binary(max_size=60), st.text("0123456789:. GbN/A-+eE", max_size=40).map(str.encode)),
)
def test_whatever_a_file_holds_the_others_are_read(
    machine: Machine, samples: Samples, tmp_path: Path, file: str, data: bytes
) -> None:
    host = machine(ONE)
    (tmp_path / PORT / file).write_bytes(data)
    assert samples(SOURCE, host)[f"node_infiniband_link_downed_total{HERE_IS}"] == 2
