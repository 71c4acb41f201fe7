"""The text that a trainer fetches is what libkineto's parser takes."""

import pytest

from vigie.trace.kineto.config_text import InvalidRequestError, TraceRequest, build_config, expected_path


def parse(text: str) -> dict[str, str]:
    """Read a configuration as libkineto does: cut at `#`, split at every `=`, exactly two parts."""
    values = {}
    for line in text.split("\n"):
        line = line.split("#")[0].strip()
        if line:
            key, value = line.split("=")
            values[key.strip()] = value.strip()
    return values


def test_duration_is_asked_with_a_common_start() -> None:
    text = build_config(
        TraceRequest("s1-3", "/tmp/vigie/t.json", start_ms=1_790_857_026_000, duration_ms=300)
    )
    assert text == (
        "ACTIVITIES_LOG_FILE=/tmp/vigie/t.json\n"
        "PROFILE_START_TIME=1790857026000\n"
        "ACTIVITIES_DURATION_MSECS=300\n"
        "PROFILE_REPORT_INPUT_SHAPES=false\n"
        "PROFILE_PROFILE_MEMORY=false\n"
        "PROFILE_WITH_STACK=false\n"
        "PROFILE_WITH_FLOPS=false\n"
        "PROFILE_WITH_MODULES=false\n"
        "REQUEST_TRACE_ID=s1-3\n"
    )


def test_iterations_replace_start_and_duration() -> None:
    values = parse(build_config(TraceRequest("s1", "/tmp/t.json", iterations=5, iteration_roundup=100)))
    assert (values["ACTIVITIES_ITERATIONS"], values["PROFILE_START_ITERATION_ROUNDUP"]) == ("5", "100")
    assert "PROFILE_START_TIME" not in values


def test_switches_of_the_profiler_are_passed_on() -> None:
    values = parse(build_config(TraceRequest("s1", "/tmp/t.json", record_shapes=True, with_stacks=True)))
    assert (values["PROFILE_REPORT_INPUT_SHAPES"], values["PROFILE_WITH_STACK"]) == ("true", "true")


def test_snapshot_names_its_file_after_the_key_that_resets_it() -> None:
    lines = build_config(TraceRequest("s1", "/tmp/s.pickle", memory_snapshot=True)).splitlines()
    keys = [line.split("=")[0] for line in lines]
    assert keys.index("PROFILE_MEMORY") < keys.index("ACTIVITIES_LOG_FILE")


@pytest.mark.parametrize(
    "path", ["/tmp/a=b.json", "/tmp/a#b.json", "/tmp/a\nb.json", "/tmp/a\0.json", "", "x" * 2000]
)
def test_path_that_a_trainer_would_misread_is_refused(path: str) -> None:
    with pytest.raises(InvalidRequestError):
        build_config(TraceRequest("s1", path))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/tmp/t.json", "/tmp/t_7.json"),
        ("/tmp/t.json.gz", "/tmp/t_7.json.gz"),
        ("/tmp/t.pt.trace.json", "/tmp/t_7.pt.trace.json"),
        ("/tmp/a.json/t.json", "/tmp/a_7.json/t.json"),
        ("/tmp/trace", "/tmp/trace"),
    ],
)
def test_pid_goes_where_libkineto_puts_it(path: str, expected: str) -> None:
    assert expected_path(path, 7) == expected
