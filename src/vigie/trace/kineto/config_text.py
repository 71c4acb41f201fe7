"""The configuration that a trainer fetches: lines of KEY=VALUE, as libkineto's parser takes them."""

from __future__ import annotations

from typing import NamedTuple

MAX_PATH_LENGTH = 1024
_FORBIDDEN = frozenset("=#\n\r\0")  # libkineto splits at every `=` and cuts at `#`


class InvalidRequestError(ValueError):
    """The request would not reach the trainer as meant; the message says why."""


class TraceRequest(NamedTuple):
    """What a trainer is to record. Iterations, where given, win over the duration."""

    trace_id: str
    path: str  # as the trainer sees it; it puts its pid before `.json`
    start_ms: int = 0  # Unix time; 0 is as soon as possible
    duration_ms: int = 500
    iterations: int = 0
    iteration_roundup: int = 1
    record_shapes: bool = False
    profile_memory: bool = False
    with_stacks: bool = False
    with_flops: bool = False
    with_modules: bool = False
    memory_snapshot: bool = False


def build_config(request: TraceRequest) -> str:
    """Return the text for a trainer, or raise InvalidRequestError for a value it would misread."""
    _check_text("path", request.path)
    _check_text("trace id", request.trace_id)
    lines = [f"ACTIVITIES_LOG_FILE={request.path}", *_build_window(request), *_build_switches(request)]
    if request.memory_snapshot:
        # The snapshot's key resets the file's name, so the name comes after it.
        lines = [
            "PROFILE_MEMORY=true",
            f"PROFILE_MEMORY_DURATION_MSECS={request.duration_ms}",
            *lines,
        ]
    return "\n".join([*lines, f"REQUEST_TRACE_ID={request.trace_id}", ""])


def expected_path(path: str, pid: int) -> str:
    """Return where a trainer writes: its pid, as it sees it, goes before the first suffix it knows."""
    for suffix in (".pt.trace.json", ".json"):
        if suffix in path:
            return path.replace(suffix, f"_{pid}{suffix}", 1)
    return path


def _build_window(request: TraceRequest) -> list[str]:
    if request.iterations > 0:
        return [
            "PROFILE_START_ITERATION=0",
            f"PROFILE_START_ITERATION_ROUNDUP={request.iteration_roundup}",
            f"ACTIVITIES_ITERATIONS={request.iterations}",
        ]
    return [
        f"PROFILE_START_TIME={request.start_ms}",
        f"ACTIVITIES_DURATION_MSECS={request.duration_ms}",
    ]


def _build_switches(request: TraceRequest) -> list[str]:
    switches = {
        "PROFILE_REPORT_INPUT_SHAPES": request.record_shapes,
        "PROFILE_PROFILE_MEMORY": request.profile_memory,
        "PROFILE_WITH_STACK": request.with_stacks,
        "PROFILE_WITH_FLOPS": request.with_flops,
        "PROFILE_WITH_MODULES": request.with_modules,
    }
    return [f"{key}={str(on).lower()}" for key, on in switches.items()]


def _check_text(what: str, text: str) -> None:
    if found := sorted(_FORBIDDEN.intersection(text)):
        raise InvalidRequestError(f"{what} {text!r} contains {found[0]!r}, which trainers do not take")
    if not text or len(text) > MAX_PATH_LENGTH:
        raise InvalidRequestError(f"{what} must have 1 to {MAX_PATH_LENGTH} characters")
