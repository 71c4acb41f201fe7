from __future__ import annotations

from tests.sources.conftest import Machine, Samples
from vigie.sources.softnet import SOURCE


def _row(*columns: int) -> str:
    return " ".join(f"{column:08x}" for column in columns)


def test_columns_of_a_new_kernel_are_all_taken(machine: Machine, samples: Samples) -> None:
    row = _row(0xFFFFFFFF, 2, 3, 0, 0, 0, 0, 0, 9, 10, 11, 12, 7, 14, 15)
    assert samples(SOURCE, machine(f"-- proc/net/softnet_stat --\n{row}\n")) == {
        'node_softnet_processed_total{cpu="0"}': 0xFFFFFFFF,
        'node_softnet_dropped_total{cpu="0"}': 2,
        'node_softnet_times_squeezed_total{cpu="0"}': 3,
        'node_softnet_cpu_collision_total{cpu="0"}': 9,
        'node_softnet_received_rps_total{cpu="0"}': 10,
        'node_softnet_flow_limit_count_total{cpu="0"}': 11,
        'node_softnet_backlog_len{cpu="0"}': 12,
    }


def test_columns_that_an_old_kernel_lacks_are_left_out(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(f"-- proc/net/softnet_stat --\n{_row(1, 2, 3, 0, 0, 0, 0, 0, 9)}\n"))
    assert len(found) == 4


def test_cores_are_numbered_by_line_and_garbled_ones_cost_only_themselves(
    machine: Machine, samples: Samples
) -> None:
    good = _row(1, 2, 3, 0, 0, 0, 0, 0, 9)
    lines = [good, "00000001 0000", "zz" + good[2:], "", good[:-4], good]
    host = machine("\n".join(["-- proc/net/softnet_stat --", *lines]))
    cores = {series.partition('cpu="')[2][0] for series in samples(SOURCE, host)}
    assert cores == {"0", "5"}
    assert len(host.notes) == 4
