from __future__ import annotations

import pytest

from vigie.cli import parser_of
from vigie.cli.settings import flags
from vigie.common.config import ConfigError


def _resolve(*words: str) -> flags.Settings:
    return flags.resolve(parser_of("agent").parse_args(words))


def test_off_by_default() -> None:
    settings = _resolve()
    assert (settings["dialects"], settings["exporter_ports"]) == ([], [])


def test_moneo_turns_on_what_its_names_are_derived_from() -> None:
    assert "cpu_numa" in {source.name for source in _resolve("--dialects=moneo").sources}
    left = _resolve("--dialects=moneo", "--no-sources=cpu_numa")
    assert "cpu_numa" not in {source.name for source in left.sources}


@pytest.mark.parametrize(
    ("given", "ports"),
    [("on", [9100, 9400, 8080]), ("off", []), ("19100,19400,18080", [19100, 19400, 18080])],
)
def test_ports_are_a_switch_or_three_numbers(given: str, ports: list[int]) -> None:
    assert _resolve(f"--exporter-ports={given}")["exporter_ports"] == ports


@pytest.mark.parametrize(
    "flag", ["--dialects=zabbix", "--exporter-ports=9100", "--exporter-ports=1,2,x", "--exporter-ports=0,1,2"]
)
def test_a_wrong_value_says_what_to_use(flag: str) -> None:
    with pytest.raises(ConfigError, match="use "):
        _resolve(flag)


def test_an_optional_source_is_found_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGIE_SOURCE_SYSTEMD_DETAILS", "on")
    settings = _resolve("--with-sources=cpu_vulnerabilities")
    assert settings.values["source.systemd.details"].value == "on"
    names = {source.name for source in settings.sources}
    assert "cpu_vulnerabilities" in names
    assert "systemd" not in names  # a setting of its own does not turn it on
