from __future__ import annotations

from pathlib import Path

from tests.sources.conftest import Machine, Samples
from vigie.sources.optional.interrupts import SOURCE

ARCHIVE = """-- proc/interrupts --
            CPU0       CPU2
   0:          9          1 IR-IO-APIC   2-edge      timer
  41:   12039485          0 IR-PCI-MSIX-0000:03:00.0   0-edge      mpt3sas0,  mpt3sas1
 LOC:  812039485  812039486   Local timer interrupts
IPI0:         5          6  Rescheduling interrupts
 ERR:          2
 MIS:          0
"""


def test_rows_are_told_by_core_type_and_device(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE)
    for _ in range(2):
        found = samples(SOURCE, host)
        pci = 'type="41",info="IR-PCI-MSIX-0000:03:00.0",devices="0-edge mpt3sas0, mpt3sas1"}'
        assert found['node_interrupts_total{cpu="0",' + pci] == 12039485
        assert found['node_interrupts_total{cpu="2",' + pci] == 0
        local = 'type="LOC",info="Local timer interrupts"'
        assert any(series.startswith('node_interrupts_total{cpu="2",' + local) for series in found)
        assert len(found) == 8


def test_rows_of_no_core_are_left_out(machine: Machine, samples: Samples) -> None:
    assert not any("ERR" in series or "MIS" in series for series in samples(SOURCE, machine(ARCHIVE)))


def test_number_given_to_another_device_changes_the_labels(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE)
    samples(SOURCE, host)
    path = Path(host.proc.top, "interrupts")
    path.write_text(path.read_text().replace("mpt3sas0", "nvme0"), encoding="utf-8")
    found = samples(SOURCE, host)
    assert any("nvme0" in series for series in found)
    assert not any("mpt3sas0" in series for series in found)


def test_core_that_went_away_takes_its_column_along(machine: Machine, samples: Samples) -> None:
    host = machine(ARCHIVE)
    samples(SOURCE, host)
    text = "     CPU0\n   0:          9  IR-IO-APIC   2-edge      timer\n"
    Path(host.proc.top, "interrupts").write_text(text, encoding="utf-8")
    assert len(samples(SOURCE, host)) == 1
    assert len(host.cache["rows"]) == 1


def test_garbled_row_costs_only_itself(machine: Machine, samples: Samples) -> None:
    lines = ["CPU0 CPU1", "1: 1 x IO-APIC timer", "2: 1", "3", ": 1 2 nameless", "4: 1 2 IO-APIC disk", ""]
    host = machine("\n".join(["-- proc/interrupts --", *lines]))
    assert {series[series.index("type") :][:8] for series in samples(SOURCE, host)} == {'type="4"'}
    assert list(host.notes) == ["/proc/interrupts 1"]


def test_empty_file_gives_nothing(machine: Machine, samples: Samples) -> None:
    assert samples(SOURCE, machine("-- proc/interrupts --\n")) == {}
