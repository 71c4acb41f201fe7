"""What a machine has: GPUs are those that a driver has, and what cannot be known is not there."""

from __future__ import annotations

from pathlib import Path

from vigie.agent.link.inventory import build_inventory


def driver(sysfs: Path, name: str, *classes: str, version: str = "") -> None:
    """Let a driver have devices of these classes."""
    place = sysfs / "bus/pci/drivers" / name
    place.mkdir(parents=True)
    (place / "bind").touch()
    for number, kind in enumerate(classes):
        (place / f"0000:{number:02x}:00.0").mkdir()
        (place / f"0000:{number:02x}:00.0" / "class").write_text(f"{kind}\n")
    if version:
        (sysfs / "module" / name).mkdir(parents=True)
        (sysfs / "module" / name / "version").write_text(f"{version}\n")


def test_gpus_are_counted_by_the_driver_that_has_them(tmp_path: Path) -> None:
    driver(tmp_path, "nvidia", *["0x030200"] * 8, version="550.54.15")
    found = build_inventory(tmp_path)
    assert (found["gpus"], found["driver"]) == ("8", "550.54.15")
    assert int(found["cpus"]) > 0
    assert int(found["memory_bytes"]) > 0


def test_driver_that_has_no_gpu_any_more_is_none_and_no_driver_is_not_known(tmp_path: Path) -> None:
    assert "gpus" not in build_inventory(tmp_path)
    driver(tmp_path, "nvidia")
    assert build_inventory(tmp_path)["gpus"] == "0"


def test_screen_of_a_processor_is_no_gpu_of_a_cluster(tmp_path: Path) -> None:
    driver(tmp_path / "desktop", "amdgpu", "0x030000")
    assert "gpus" not in build_inventory(tmp_path / "desktop")
    driver(tmp_path / "mi300x", "amdgpu", "0x030000", *["0x120000"] * 8)
    assert build_inventory(tmp_path / "mi300x")["gpus"] == "8"
