"""A setting is declared once: flags, environment, file, `config show` and the reference follow from it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from vigie.cli import COMMANDS, main, parser_of
from vigie.cli.settings import flags
from vigie.cli.settings.registry import all_settings
from vigie.common.config import Setting
from vigie.sources.core.registry import find_sources

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"
SETTINGS = pytest.mark.parametrize("setting", all_settings(), ids=lambda setting: setting.key)


def resolve(tmp_path: Path, command: str, text: str = "", *given: str) -> flags.Settings:
    (tmp_path / "vigie.toml").write_text(text)
    return flags.resolve(parser_of(command).parse_args([f"--config={tmp_path}/vigie.toml", *given]))


def test_keys_are_unique() -> None:
    assert set(Counter(setting.key for setting in all_settings(find_sources())).values()) == {1}


@SETTINGS
def test_setting_is_in_the_reference_with_its_variable(setting: Setting) -> None:
    assert f"(${setting.variable})\n{setting.name} = " in REFERENCE.read_text()


@SETTINGS
def test_setting_has_a_flag_in_the_commands_that_it_names(setting: Setting) -> None:
    assert set(setting.commands) <= set(COMMANDS)
    for command in setting.commands:
        if command != "users":  # whose actions have it
            assert setting.key in {action.dest for action in parser_of(command)._actions}


@SETTINGS
def test_default_is_a_value_that_the_check_takes(setting: Setting) -> None:
    assert setting.default == setting.check(setting.default)


def test_every_setting_is_shown_with_its_origin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIGIE_RETENTION_EVENTS_DAYS", "7")
    assert main(["config", "show"]) == 0
    output = capsys.readouterr().out
    assert all(f"\n{setting.name} = " in output for setting in all_settings())
    assert "events_days = 7.0" in output
    assert "# $VIGIE_RETENTION_EVENTS_DAYS" in output


def test_flag_that_may_be_repeated_gives_a_list(tmp_path: Path) -> None:
    settings = resolve(tmp_path, "agent", "", "--server=http://a:1", "--server=http://b:2", "--label=rack=r1")
    assert settings.effective["link.server"] == ["http://a:1", "http://b:2"]
    assert settings.effective["link.labels"] == ["rack=r1"]


@pytest.mark.parametrize("command", ["server", "up", "demo"])
def test_every_retention_can_be_set_in_the_file_and_by_a_flag(tmp_path: Path, command: str) -> None:
    text = "[retention]\nraw_days = 1\nrollup_5m_days = 2\nrollup_1h_days = 3\nevents_days = 4\n"
    settings = resolve(tmp_path, command, text, "--bindings-days=5")
    assert settings.section("retention") == {
        "raw_days": 1,
        "rollup_5m_days": 2,
        "rollup_1h_days": 3,
        "events_days": 4,
        "bindings_days": 5,
        "traces_days": 30,
        "traces_gigabytes": 20,
        "store_gigabytes": 0,
    }
