from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.custom import MAX_KEYS, MAX_STALE_READS, SOURCE

DEVICES = "-- sys/class/infiniband/mlx5_0/x --\n-- sys/class/infiniband/mlx5_1/x --\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "metrics.json"


def test_keys_become_moneos_series_per_gpu_per_port_and_per_node(
    machine: Machine, samples: Samples, file: Path
) -> None:
    file.write_text(
        json.dumps({"loss": 0.5, "acc_top1": 71, "gpu_0_two_words": 3, "gpu_1_two_words": 4, "ib_1_flaps": 2})
    )
    assert samples(SOURCE, machine(DEVICES, file=str(file))) == {
        'custom_loss{job_id="None"}': 0.5,
        'custom_acc_top1{job_id="None"}': 71,
        'custom_gpu_two_words{gpu_id="0",job_id="None"}': 3,
        'custom_gpu_two_words{gpu_id="1",job_id="None"}': 4,
        'custom_ib_flaps{ib_port="mlx5_1:1",job_id="None"}': 2,
    }


def test_job_that_moneos_tools_have_set_is_the_label(machine: Machine, samples: Samples, file: Path) -> None:
    file.write_text('{"loss": 1}')
    host = machine("-- root/tmp/moneo-worker/curr_jobID --\ntrain_4711\n", file=str(file))
    assert samples(SOURCE, host) == {'custom_loss{job_id="train_4711"}': 1}


def test_keys_that_appear_later_are_taken(machine: Machine, samples: Samples, file: Path) -> None:
    file.write_text('{"loss": 1}')
    host = machine("", file=str(file))
    samples(SOURCE, host)
    file.write_text('{"loss": 1, "gpu_3_mfu": 0.4}')
    assert samples(SOURCE, host)['custom_gpu_mfu{gpu_id="3",job_id="None"}'] == 0.4


def test_half_written_file_repeats_the_last_values_and_the_next_whole_one_is_taken(
    machine: Machine, samples: Samples, file: Path
) -> None:
    file.write_text('{"loss": 1}')
    host = machine("", file=str(file))
    before = samples(SOURCE, host)
    file.write_text('{"loss": ')
    assert samples(SOURCE, host) == before
    assert "not valid JSON" in host.notes[str(file)]
    file.write_text('{"loss": 2}')
    assert samples(SOURCE, host) == {'custom_loss{job_id="None"}': 2}


def test_file_that_stays_broken_gives_no_stale_values(machine: Machine, samples: Samples, file: Path) -> None:
    file.write_text('{"loss": 1}')
    host = machine("", file=str(file))
    samples(SOURCE, host)
    file.write_text("[]")
    for _ in range(MAX_STALE_READS):
        samples(SOURCE, host)
    with pytest.raises(Unavailable, match="not a JSON object"):
        samples(SOURCE, host)


def test_bad_key_costs_only_itself(machine: Machine, samples: Samples, file: Path) -> None:
    bad = {"a b": 1, "text": "x", "list": [1], "ib_7_x": 1, "big": 10**400, "none": None}
    file.write_text(json.dumps({**bad, "loss": 1}))
    host = machine(DEVICES, file=str(file))
    assert samples(SOURCE, host) == {'custom_loss{job_id="None"}': 1}
    assert set(host.notes) == {"a b", "text", "list", "ib_7_x", "none"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("{}" + " " * (1 << 20), "larger than"),
        (json.dumps({f"k{i}": i for i in range(MAX_KEYS + 1)}), "more than"),
    ],
)
def test_unusable_file_is_the_reason(
    machine: Machine, samples: Samples, file: Path, content: str, why: str
) -> None:
    file.write_text(content)
    with pytest.raises(Unavailable, match=why):
        samples(SOURCE, machine("", file=str(file)))


def test_without_a_file_the_reason_names_the_setting(machine: Machine, samples: Samples, file: Path) -> None:
    with pytest.raises(Unavailable, match=r"\[source\.custom\]"):
        samples(SOURCE, machine(""))
    with pytest.raises(FileNotFoundError):
        samples(SOURCE, machine("", file=str(file)))
    with pytest.raises(Unavailable, match="regular file"):
        samples(SOURCE, machine("", file="/dev/null"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=100) | st.text(max_size=60).map(str.encode))
def test_whatever_the_file_holds_is_read_or_refused(
    machine: Machine, samples: Samples, file: Path, data: bytes
) -> None:
    file.write_bytes(data)
    host = machine("", file=str(file))
    try:
        samples(SOURCE, host)
    except Unavailable:
        assert host.notes
