"""PCI addresses, whoever spells them."""

from __future__ import annotations

import pytest

from vigie.model.node import normalize_pci_bus_id


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("0000:c1:00", "00000000:C1:00.0"),
        ("0000:c1:00.0", "00000000:C1:00.0"),
        ("c1:0.1", "00000000:C1:00.1"),
        ("00000001:C1:00.0", "00000001:C1:00.0"),
        ("nowhere", "nowhere"),
        ("", ""),
    ],
)
def test_pci_address_is_spelled_as_nvml_does_and_what_is_none_stays(text: str, normalized: str) -> None:
    assert normalize_pci_bus_id(text) == normalized
