from __future__ import annotations

from pathlib import Path

import pytest

from vigie.cli.settings.agent import SETTINGS
from vigie.common import config
from vigie.common.config import ConfigError, resolve


def effective(
    flags: dict[str, object] | None = None, environ: dict[str, str] | None = None, file: str = ""
) -> dict[str, config.Value]:
    import tomllib

    keys = dict(config._dotted(tomllib.loads(file)))
    return resolve(SETTINGS, flags=flags or {}, environ=environ or {}, file=(keys, "vigie.toml"))


def test_flags_win_over_environment_over_file_over_default() -> None:
    file = "[agent]\ncadence = 20\n"
    assert effective()["agent.cadence"] == (10.0, "default")
    assert effective(file=file)["agent.cadence"] == (20.0, "vigie.toml")
    environ = {"VIGIE_AGENT_CADENCE": "30"}
    assert effective(environ=environ, file=file)["agent.cadence"] == (30.0, "$VIGIE_AGENT_CADENCE")
    assert effective({"agent.cadence": "40"}, environ, file)["agent.cadence"] == (40.0, "flag")


def test_unknown_key_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown key agent\.cadance; did you mean agent\.cadence\?"):
        effective(file="[agent]\ncadance = 5\n")


@pytest.mark.parametrize(
    "file",
    [
        "[agent]\ncadence = true",
        "[agent]\ncadence = 'soon'",
        "[agent]\nlisten = 9797",
        "[agent]\nsources = [1]",
        "[agent]\nlog_level = 'loud'",
    ],
)
def test_value_of_the_wrong_kind_is_refused(file: str) -> None:
    with pytest.raises(ConfigError, match="use "):
        effective(file=file)


def test_named_file_must_exist_and_the_usual_one_may_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        config.read_file(tmp_path / "none.toml", {})
    monkeypatch.setattr(config, "default_file", lambda _: tmp_path / "none.toml")
    assert config.read_file(None, {})[0] == {}


def test_garbled_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "vigie.toml"
    path.write_text("[agent]\ncadence = = 3\n")
    with pytest.raises(ConfigError, match=r"vigie\.toml.*line 2"):
        config.read_file(path, {})
