from __future__ import annotations

from pathlib import Path

from tests.sources.conftest import Machine, Samples
from vigie.sources.core.host import Host
from vigie.sources.netclass import SOURCE


def interface(name: str, **attributes: str) -> str:
    """Return the archive of an interface, with some attributes of its own."""
    texts = {
        "uevent": f"INTERFACE={name}\nIFINDEX=4",
        "ifindex": "4",
        "flags": "0x1003",
        "operstate": "up",
        "carrier_changes": "3",
        "mtu": "1500",
        **attributes,
    }
    return "".join(f"-- sys/class/net/{name}/{file} --\n{text}\n" for file, text in texts.items())


def test_what_the_files_say_is_told(machine: Machine, samples: Samples) -> None:
    found = samples(SOURCE, machine(interface("eth0", speed="100000", dev_id="0x1f", type="1")))
    assert found == {
        'node_network_up{device="eth0"}': 1,
        'node_network_info{device="eth0",operstate="up",adminstate="up"}': 1,
        'node_network_iface_id{device="eth0"}': 4,
        'node_network_flags{device="eth0"}': 0x1003,
        'node_network_carrier_changes_total{device="eth0"}': 3,
        'node_network_mtu_bytes{device="eth0"}': 1500,
        'node_network_speed_bytes{device="eth0"}': 12_500_000_000,
        'node_network_device_id{device="eth0"}': 31,
        'node_network_protocol_type{device="eth0"}': 1,
    }


def test_unknown_speed_is_no_speed(machine: Machine, samples: Samples) -> None:
    archive = interface("eth0", speed="-1") + interface("eth1", speed="4294967295")
    assert not [series for series in samples(SOURCE, machine(archive)) if "speed" in series]


def test_only_an_interface_that_says_so_is_up(machine: Machine, samples: Samples) -> None:
    archive = interface("eth0", operstate="down") + interface("lo", operstate="unknown")
    found = samples(SOURCE, machine(archive))
    assert found['node_network_up{device="eth0"}'] == found['node_network_up{device="lo"}'] == 0


def test_attribute_that_a_link_cannot_have_is_not_worth_a_note(machine: Machine, samples: Samples) -> None:
    host = machine(
        interface("lo")
        + "-- sys/class/net/lo/speed ! EINVAL --\n-- sys/class/net/lo/duplex ! EOPNOTSUPP --\n"
    )
    assert 'node_network_mtu_bytes{device="lo"}' in samples(SOURCE, host)
    assert host.notes == {}


def test_unreadable_or_garbled_attribute_costs_only_itself_and_stays_noted(
    machine: Machine, samples: Samples
) -> None:
    host = machine(interface("eth0", tx_queue_len="N/A") + "-- sys/class/net/eth0/carrier ! EIO --\n")
    for _ in range(3):
        host.notes.clear()
        assert len(samples(SOURCE, host)) == 6
        assert set(host.notes) == {"/sys/class/net/eth0/tx_queue_len", "/sys/class/net/eth0/carrier"}


def test_what_is_no_interface_is_passed_over(machine: Machine, samples: Samples) -> None:
    files = "-- sys/class/net/bonding_masters --\nbond0\n-- sys/class/net/a_file --\nx\n"
    hollow = "-- sys/class/net/empty/ --\n-- sys/class/net/gone -> ../../devices/gone --\n"
    host = machine(files + hollow + interface("eth0"))
    assert all("eth0" in series for series in samples(SOURCE, host))
    assert host.notes == {}


def test_excluded_interfaces_are_left_out(machine: Machine, samples: Samples) -> None:
    host = machine(interface("eth0") + interface("veth1"), exclude="^veth")
    assert all("eth0" in series for series in samples(SOURCE, host))


def test_carrier_that_comes_back_shows_at_the_next_read(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(interface("eth0", operstate="down", flags="0x1002"))
    assert 'node_network_carrier{device="eth0"}' not in samples(SOURCE, host)
    files = tmp_path / "sys/class/net/eth0"
    for file, text in {"operstate": "up", "flags": "0x1003", "carrier": "1", "speed": "1000"}.items():
        (files / file).write_text(text)
    found = samples(SOURCE, host)
    assert found['node_network_carrier{device="eth0"}'] == 1
    assert found['node_network_speed_bytes{device="eth0"}'] == 125_000_000


def test_bond_slows_down_as_soon_as_one_of_its_links_goes(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(interface("bond0", speed="50000") + interface("eth0", speed="25000"))
    samples(SOURCE, host)
    (tmp_path / "sys/class/net/eth0/carrier_changes").write_text("4")
    (tmp_path / "sys/class/net/bond0/speed").write_text("25000")
    assert samples(SOURCE, host)['node_network_speed_bytes{device="bond0"}'] == 3_125_000_000


def test_speed_that_the_driver_learns_late_is_not_missed(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(interface("eth0", speed="-1"))
    samples(SOURCE, host)
    (tmp_path / "sys/class/net/eth0/speed").write_text("1000")
    assert samples(SOURCE, host)['node_network_speed_bytes{device="eth0"}'] == 125_000_000


def test_setting_changed_by_a_person_shows_at_the_next_read(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(interface("eth0", ifalias="old", tx_queue_len="1000"))
    samples(SOURCE, host)
    (tmp_path / "sys/class/net/eth0/ifalias").write_text("new")
    (tmp_path / "sys/class/net/eth0/tx_queue_len").write_text("77")
    found = samples(SOURCE, host)
    assert found['node_network_info{device="eth0",operstate="up",adminstate="up",ifalias="new"}'] == 1
    assert found['node_network_transmit_queue_length{device="eth0"}'] == 77


def test_interface_made_anew_under_its_name_is_read_anew(
    machine: Machine, samples: Samples, tmp_path: Path
) -> None:
    host = machine(interface("tun0", address="02:00:00:00:00:01"))
    samples(SOURCE, host)
    (tmp_path / "sys/class/net/tun0/uevent").write_text("INTERFACE=tun0\nIFINDEX=9")
    (tmp_path / "sys/class/net/tun0/address").write_text("02:00:00:00:00:02")
    (series,) = [series for series in samples(SOURCE, host) if series.startswith("node_network_info")]
    assert "02:00:00:00:00:02" in series


def test_interface_that_went_is_forgotten(machine: Machine, samples: Samples, tmp_path: Path) -> None:
    host: Host = machine(interface("eth0") + interface("veth1"))
    samples(SOURCE, host)
    (tmp_path / "sys/class/net/veth1").rename(tmp_path / "elsewhere")
    assert all("eth0" in series for series in samples(SOURCE, host))
