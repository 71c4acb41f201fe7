from __future__ import annotations

import json

import pytest

from tests.sources.conftest import Machine, Samples
from vigie.sources.optional.ethtool import SOURCE, spell

ARCHIVE = "-- sys/class/net/eth0/mtu --\n1500\n-- sys/class/net/lo/mtu --\n65536\n-- calls.json --\n"
LINK = [1 << 6 | 1 << 13 | 1 << 38, 1 << 6, True]


def _archive(counters: dict[str, int]) -> str:
    return ARCHIVE + json.dumps(
        {"ethtool": {"eth0": ["mlx5_core", "6", "28", "0000:17:00.0", "", counters, LINK]}}
    )


def test_pause_frames_have_node_exporters_names(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(_archive({"rx_prio3_pause": 7, "tx_bytes": 9, "\udcff!": 1})))
    assert found['node_ethtool_received_prio3_pause{device="eth0"}'] == 7
    assert found['node_ethtool_transmitted_bytes_total{device="eth0"}'] == 9
    mode = '{device="eth0",duplex="full",mode="100000baseCR4"}'
    assert found["node_network_supported_speed_bytes" + mode] == 12.5e9
    assert "node_network_advertised_speed_bytes" + mode not in found
    assert found['node_network_pause_supported{device="eth0"}'] == 1
    assert found['node_network_pause_advertised{device="eth0"}'] == 0


def test_only_wanted_counters_are_told(machine: Machine, samples: Samples) -> None:
    host = machine(_archive({"rx_prio3_pause": 7, "ch0_poll": 9}), include="pause|discard")
    assert not [series for series in samples(SOURCE, host) if "poll" in series]


@pytest.mark.parametrize(
    ("counter", "name"),
    [
        ("rx_xdp_tx", "received_xdp_transmitted"),
        ("tx_tx_timeouts", "transmitted_tx_timeouts"),
        ("Rx Queue#0: drops", "received_queue_0_drops"),
        ("rx0_kicks", "rx0_kicks"),
    ],
)
def test_names_are_spelled_as_node_exporter_does(counter: str, name: str) -> None:
    assert spell(counter) == name
