"""dynolog's command line, for its daemon or an agent with --dyno-rpc."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from vigie.trace.dyno.client import DynoCallError, call
from vigie.trace.dyno.framing import PORT, encode_message
from vigie.trace.kineto.config_text import expected_path

EXAMPLE = """examples:
  vigie dyno status
  vigie dyno trainers                             which processes can be traced
  vigie dyno gputrace --log-file /tmp/trace.json --duration-ms 500
  vigie dyno --hostname n17 gputrace --job-id 4711 --log-file /tmp/trace.json --iterations 5
  vigie dyno unitrace 4711 --hosts n17 n18 -o /tmp"""
ERRORS = (DynoCallError,)
UNITRACE_PROCESSES = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare dyno's own options."""
    parser.add_argument("--hostname", default="localhost", help="host of the daemon (default: %(default)s)")
    parser.add_argument("--port", type=int, default=PORT, help="its port (default: %(default)s)")
    actions = parser.add_subparsers(dest="action", required=True, metavar="COMMAND")
    actions.add_parser("status", help="check that the daemon answers")
    actions.add_parser("version", help="print the daemon's version")
    actions.add_parser("trainers", help="list the processes that can be traced")
    _add_trace_arguments(actions.add_parser("gputrace", help="trace PyTorch processes"))
    pause = actions.add_parser("dcgm-pause", help="pause DCGM profiling")
    pause.add_argument("--duration-s", type=int, default=300, help="seconds (default: %(default)s)")
    actions.add_parser("dcgm-resume", help="resume DCGM profiling")
    _add_unitrace_arguments(actions.add_parser("unitrace", help="trace a job on several hosts at one time"))


def _add_trace_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--job-id", type=int, default=0, help="Slurm job (default: processes without one)")
    parser.add_argument("--pids", default="0", help="pids with commas between them (default: all)")
    parser.add_argument("--duration-ms", type=int, default=500, help="length (default: %(default)s)")
    parser.add_argument("--iterations", type=int, default=-1, help="optimizer steps instead of a duration")
    parser.add_argument("--log-file", required=True, help="file that each process writes, with its pid added")
    parser.add_argument("--profile-start-time", type=int, default=0, help="Unix time in ms (default: soon)")
    parser.add_argument("--profile-start-iteration-roundup", type=int, default=1, help="start at a multiple")
    parser.add_argument("--process-limit", type=int, default=3, help="at most so many (default: %(default)s)")
    for flag in ("record-shapes", "profile-memory", "with-stacks", "with-flops", "with-modules"):
        parser.add_argument(f"--{flag}", action="store_true", help="passed to PyTorch's profiler")
    parser.add_argument("--fail-on-no-process", action="store_true", help="exit 1 when nothing matches")


def _add_unitrace_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job_id", type=int, help="Slurm job")
    parser.add_argument("--hosts", nargs="+", required=True, help="hosts of the job")
    parser.add_argument("-o", "--output-dir", default="/tmp/", help="directory on each host")  # noqa: S108
    parser.add_argument("-d", "--duration-ms", type=int, default=500, help="length (default: %(default)s)")
    parser.add_argument(
        "--start-time-delay", type=int, default=16, help="seconds ahead (default: %(default)s)"
    )
    parser.add_argument("-i", "--iterations", type=int, default=0, help="steps instead of a duration")
    parser.add_argument("--iteration-roundup", type=int, default=1000, help="start at a multiple of")


def run(arguments: argparse.Namespace) -> int:
    """Call the daemon and print its answer as dyno does."""
    if arguments.action == "unitrace":
        return _trace_hosts(arguments)
    if arguments.action == "gputrace":
        return _trace(arguments, arguments.hostname)
    names: dict[str, dict[str, Any]] = {
        "status": {"fn": "getStatus"},
        "version": {"fn": "getVersion"},
        "trainers": {"fn": "getTrainers"},
        "dcgm-pause": {"fn": "dcgmProfPause", "duration_s": getattr(arguments, "duration_s", 0)},
        "dcgm-resume": {"fn": "dcgmProfResume"},
    }
    answer = _call(arguments, arguments.hostname, names[arguments.action])
    if arguments.action == "trainers":
        return _show_trainers(answer)
    return 0


def _call(arguments: argparse.Namespace, hostname: str, request: dict[str, Any]) -> Any:
    answer = call(hostname, arguments.port, request)
    if request["fn"] != "getTrainers":
        text = encode_message(answer)[4:].decode()
        print(f"response length = {len(text)}\nresponse = {text}")
    return answer


def build_config(arguments: argparse.Namespace) -> str:
    """Return the configuration as dyno writes it."""
    lines = [f"ACTIVITIES_LOG_FILE={arguments.log_file}"]
    if arguments.iterations > 0:
        lines += [
            "PROFILE_START_ITERATION=0",
            f"PROFILE_START_ITERATION_ROUNDUP={arguments.profile_start_iteration_roundup}",
            f"ACTIVITIES_ITERATIONS={arguments.iterations}",
        ]
    else:
        lines += [
            f"PROFILE_START_TIME={arguments.profile_start_time}",
            f"ACTIVITIES_DURATION_MSECS={arguments.duration_ms}",
        ]
    lines.append(f"PROFILE_REPORT_INPUT_SHAPES={_flag(arguments.record_shapes)}")
    if arguments.profile_memory:
        lines += [
            "PROFILE_PROFILE_MEMORY=true",
            "PROFILE_MEMORY=true",
            f"PROFILE_MEMORY_DURATION_MSECS={arguments.duration_ms}",
        ]
    lines += [
        f"PROFILE_WITH_STACK={_flag(arguments.with_stacks)}",
        f"PROFILE_WITH_FLOPS={_flag(arguments.with_flops)}",
        f"PROFILE_WITH_MODULES={_flag(arguments.with_modules)}",
    ]
    return "\n".join(lines)


def _trace(arguments: argparse.Namespace, hostname: str) -> int:
    if arguments.profile_memory and arguments.iterations > 0:
        raise argparse.ArgumentError(None, "--profile-memory records a duration: leave out --iterations")
    config = build_config(arguments)
    print(f"Kineto config = \n{config}")
    answer = _call(
        arguments,
        hostname,
        {
            "fn": "setKinetOnDemandRequest",
            "config": config,
            "job_id": arguments.job_id,
            "pids": _parse_pids(arguments.pids),
            "process_limit": arguments.process_limit,
        },
    )
    matched = answer.get("processesMatched") if isinstance(answer, dict) else None
    if matched is None:
        raise DynoCallError(f"{hostname}: the request failed: {json.dumps(answer)}")
    if not matched:
        print(
            "No processes were matched, please check --job-id or --pids flags\n"
            "`vigie dyno trainers` lists what can be traced: processes started with KINETO_USE_DAEMON=1"
        )
        return 1 if arguments.fail_on_no_process else 0
    triggered = set(answer.get("activityProfilersTriggered", matched))
    print(f"Matched {len(matched)} processes")
    if len(triggered) < len(matched):
        print(f"{len(triggered)} will be traced: the others are busy, or beyond --process-limit")
    print("Trace output files will be written to:")
    for pid in matched:
        if pid in triggered:
            print(f"    {expected_path(arguments.log_file, pid)}")
    return 0


def _trace_hosts(arguments: argparse.Namespace) -> int:
    """Trace one job on several hosts with one start, as dynolog's unitrace does."""
    start = round(time.time() * 1000) + arguments.start_time_delay * 1000
    codes = []
    for host in arguments.hosts:
        directory = arguments.output_dir.rstrip("/")
        each = argparse.Namespace(
            port=arguments.port,
            log_file=f"{directory}/libkineto_trace_{host}.json",
            job_id=arguments.job_id,
            pids="0",
            duration_ms=arguments.duration_ms,
            iterations=arguments.iterations,
            profile_start_time=start,
            profile_start_iteration_roundup=arguments.iteration_roundup,
            process_limit=UNITRACE_PROCESSES,
            record_shapes=False,
            profile_memory=False,
            with_stacks=False,
            with_flops=False,
            with_modules=False,
            fail_on_no_process=True,
        )
        try:
            codes.append(_trace(each, host))
        except DynoCallError as error:
            print(f"{host}: {error}")
            codes.append(1)
    return max(codes)


def _parse_pids(text: str) -> list[int]:
    try:
        return [int(pid) for pid in text.split(",")]
    except ValueError:
        raise argparse.ArgumentError(None, f"invalid pids {text!r}: use 123,456") from None


def _show_trainers(answer: Any) -> int:
    trainers = answer.get("trainers", []) if isinstance(answer, dict) else []
    if not trainers:
        print("No trainers are registered. Start them with KINETO_USE_DAEMON=1.")
        return 0
    print(f"{'PID':>8}  {'UID':>6}  JOB")
    for trainer in trainers:
        print(f"{trainer['pid']:>8}  {trainer['uid']:>6}  {trainer['job_id'] or '-'}")
    return 0


def _flag(value: bool) -> str:
    return "true" if value else "false"
