from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.source import Unavailable
from vigie.sources.edac import SOURCE

MC = "sys/devices/system/edac/mc/mc0"
ONE = f"""\
-- {MC}/ce_count --
3
-- {MC}/ue_count --
0
-- {MC}/ce_noinfo_count --
1
-- {MC}/ue_noinfo_count --
0
-- {MC}/csrow0/ce_count --
2
-- {MC}/csrow0/ue_count --
0
-- {MC}/csrow0/ch5_ce_count --
2
-- {MC}/csrow0/ch5_dimm_label --
P0_DIMM_F1
"""
CHANNEL = (
    'node_edac_channel_correctable_errors_total{controller="0",csrow="0",channel="5",dimm_label="P0_DIMM_F1"}'
)


def test_errors_are_told_by_controller_row_and_module(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine(ONE)) == {
        'node_edac_correctable_errors_total{controller="0"}': 3,
        'node_edac_uncorrectable_errors_total{controller="0"}': 0,
        'node_edac_csrow_correctable_errors_total{controller="0",csrow="unknown"}': 1,
        'node_edac_csrow_uncorrectable_errors_total{controller="0",csrow="unknown"}': 0,
        'node_edac_csrow_correctable_errors_total{controller="0",csrow="0"}': 2,
        'node_edac_csrow_uncorrectable_errors_total{controller="0",csrow="0"}': 0,
        CHANNEL: 2,
    }


def test_a_new_error_reaches_its_channel(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    host = machine(ONE)
    samples(SOURCE, host)
    for file in ("ce_count", "ch5_ce_count"):
        (tmp_path / MC / "csrow0" / file).write_text("9\n")
    assert samples(SOURCE, host)[CHANNEL] == 9


def test_garbled_count_costs_only_itself(machine: Machine, samples: Samples) -> None:
    host = machine(ONE.replace("ce_count --\n3", "ce_count --\n-3"))
    found = samples(SOURCE, host)
    assert 'node_edac_correctable_errors_total{controller="0"}' not in found
    assert len(found) == 6
    assert len(host.notes) == 1


def test_a_machine_without_ecc_says_so(machine: Machine, samples: Samples) -> None:
    with pytest.raises(Unavailable, match="EDAC"):
        samples(SOURCE, machine("-- sys/devices/system/edac/mc/uevent --\n"))


def test_a_modules_label_is_spelled_as_node_exporter_does(machine: Machine, samples: Samples) -> None:
    odd = ONE.replace("P0_DIMM_F1", "CPU#1csrow0channel5").replace("ch5_ce_count", "ch5_ue_count")
    series = (
        'node_edac_channel_uncorrectable_errors_total{controller="0",csrow="0",channel="5",'
        'dimm_label="CPU1_csrow0_channel5"}'
    )
    assert samples(SOURCE, machine(odd))[series] == 2


def test_a_module_without_a_label_is_unknown(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(ONE.replace("P0_DIMM_F1", "")))
    assert CHANNEL.replace("P0_DIMM_F1", "unknown") in found
