"""Slurm: the queue, nodes, partitions, accounts, users and the scheduler; who is allocated which GPU.

Asked in one place, the machine of the controller: at most one `scontrol show job`, one `show node` and one
`sdiag` a minute, and `sshare`, the partitions and the configuration every five. A reply that takes over two
seconds, or none, doubles the interval. While the controller is silent its last state stands, with its age.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from vigie.model import Event, EventChange, Phase, Sample
from vigie.sources.core.host import Host
from vigie.sources.core.source import Source, SourceOption, Unavailable
from vigie.workload.slurm.allocations import AllocationHistory, NodeNames
from vigie.workload.slurm.commands import Commands
from vigie.workload.slurm.config import find_controllers, is_here
from vigie.workload.slurm.metrics import AGE, CALLS, FAILURES, INTERVAL, METRICS, REPLY, UP
from vigie.workload.slurm.poller import Poller
from vigie.workload.slurm.samples import ClusterState, cluster_samples

AUTO, ALWAYS, NEVER = "auto", "always", "never"
PATIENCE = 1.5  # seconds that a read waits for the controller; what comes later is shown by the next
STALE_SECONDS = 3600.0  # after which the last state is shown no longer
LEAST_INTERVAL, INTERVAL_SECONDS = 10.0, "60"


def read(host: Host) -> Iterator[Sample]:
    """Yield the newest state of the cluster, asked for now if that is due."""
    poller = _poller(host)
    before, here = _earlier_controllers(host)
    poller.refresh(PATIENCE, before, here)
    if not poller.active:
        raise Unavailable(f"polled on {before[0]}, which is up. This machine is its backup")
    _note(host, poller)
    age = host.calls.time() - poller.replied_at
    state = poller.state
    if state is None or age > STALE_SECONDS:
        if poller.error:
            raise RuntimeError(f"slurmctld does not reply: {poller.error}")
        raise Unavailable("waiting for the first reply of slurmctld")
    _bind(host, poller, state, here)
    yield from cluster_samples(state)
    yield from poller.scrape.samples
    yield UP, (), float(not poller.error)
    yield AGE, (), max(age, 0.0)
    yield INTERVAL, (), poller.interval
    for label, reply in poller.commands.replies.copy().items():
        yield REPLY, (label,), reply.seconds
    for label, calls in poller.commands.calls.copy().items():
        yield CALLS, (label,), calls
        yield FAILURES, (label,), poller.commands.failures.get(label, 0)


def _poller(host: Host) -> Poller:
    """Return what asks on this machine, or raise Unavailable with where it is asked instead."""
    if "poller" not in host.cache:
        if host.options.get("poll", AUTO) == NEVER:
            raise Unavailable("turned off by source.slurm.poll")
        conf = _conf(host)
        if host.options.get("poll", AUTO) == AUTO:
            _require_controller(host, find_controllers(host.root, conf))
        commands = Commands(host.calls, host.options.get("commands", ""), conf)
        interval = max(float(host.options.get("interval", INTERVAL_SECONDS)), LEAST_INTERVAL)
        host.cache["poller"] = Poller(commands, host.calls.time, interval)
        host.cache["history"] = AllocationHistory()
    poller = host.cache["poller"]
    assert isinstance(poller, Poller)
    return poller


def _conf(host: Host) -> str:
    return host.options.get("conf", "") or os.environ.get("SLURM_CONF", "")


def _require_controller(host: Host, controllers: list[str]) -> None:
    if not controllers:
        raise Unavailable("no slurm.conf on this machine. If it is elsewhere, set source.slurm.conf")
    here = host.calls.uname()[1]
    if not any(is_here(name, here) for name in controllers):
        raise Unavailable(f"polled on {controllers[0]}")


def _earlier_controllers(host: Host) -> tuple[tuple[str, ...], str]:
    """Return the controllers that go before this machine, and its name."""
    if "earlier" not in host.cache:
        here = host.calls.uname()[1]
        controllers = find_controllers(host.root, _conf(host))
        place = next((i for i, name in enumerate(controllers) if is_here(name, here)), 0)
        auto = host.options.get("poll", AUTO) == AUTO
        host.cache["earlier"] = (tuple(controllers[:place]) if auto else (), here)
    earlier: tuple[tuple[str, ...], str] = host.cache["earlier"]
    return earlier


def _note(host: Host, poller: Poller) -> None:
    """Say what is not as it should be; the numbers themselves are on the dashboard."""
    if poller.error:
        host.note("slurmctld", f"no reply, showing its last state: {poller.error}")
    if poller.interval > poller.least_interval:
        host.note("interval", f"polled every {poller.interval:g}s: the controller is slow or busy")
    hidden = poller.hidden_data(os.geteuid())
    if hidden:
        host.note(
            "PrivateData",
            f"{', '.join(hidden)} of other users are hidden from uid {os.geteuid()}. As Slurm administrator: "
            f"sacctmgr modify user where name=$(id -nu {os.geteuid()}) set adminlevel=operator",
        )
    if poller.scrape.error:
        host.note("MetricsType", poller.scrape.error)
    if poller.state:
        _note_jobs(host, poller.state)


def _note_jobs(host: Host, state: ClusterState) -> None:
    jobs = state.jobs
    if jobs.invalid:
        host.note("scontrol show job", f"not understood: {jobs.invalid[-1]}")
    if jobs.ambiguous:
        host.note(
            "scontrol show job", f"user of jobs {', '.join(jobs.ambiguous)} is ambiguous in their records"
        )
    if jobs.unkept:
        host.note("jobs", f"{jobs.unkept} more jobs are counted, but not shown one by one")


def _bind(host: Host, poller: Poller, state: ClusterState, here: str) -> None:
    """Say who is allocated what; between two polls that is what the last one said."""
    if host.cache.get("polls") != poller.polls:
        history = host.cache["history"]
        host.cache["bound"] = list(history.bindings(state.jobs, NodeNames(state.nodes, here)))
        host.cache["polls"] = poller.polls
        _report_drained(host, state)
    for binding in host.cache["bound"]:
        host.add_binding(binding)


def _report_drained(host: Host, state: ClusterState) -> None:
    """Report nodes that are drained now and were not before, or no longer are."""
    drained = {node.name: node for node in state.nodes if node.state.startswith("drain")}
    before, now = _drained_before(host), {name: [node.host, node.reason] for name, node in drained.items()}
    for name, (address, reason) in before.items():
        if now.get(name) != [address, reason]:
            _report(host, Phase.ENDS, state.time_ms, name, address, reason)
    for name, (address, reason) in now.items():
        if before.get(name) != [address, reason]:
            begin_ms = drained[name].reason_ms or state.time_ms
            _report(host, Phase.BEGINS, begin_ms, name, address, reason)
    host.persistent["drained"] = json.dumps(now)


def _report(host: Host, phase: Phase, time_ms: int, name: str, address: str, reason: str) -> None:
    because = f": {reason}" if reason else ""
    what = f"{name} is drained{because}"
    kind, where = "node_drained", {"node": name, "host": address, "reason": reason}
    host.event_changes.append(EventChange(Event(kind, time_ms, what, where, severity="info"), phase))


def _drained_before(host: Host) -> dict[str, list[str]]:
    """Return the nodes that were drained at the last poll, also of the agent before a restart."""
    try:
        found = json.loads(host.persistent.get("drained", "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _choice(text: str) -> None:
    if text not in (AUTO, ALWAYS, NEVER):
        raise ValueError(f"use {AUTO}, {ALWAYS} or {NEVER}")


def _interval(text: str) -> None:
    if not text.isdecimal() or int(text) < LEAST_INTERVAL:
        raise ValueError(f"should be a number of seconds, at least {LEAST_INTERVAL:g}")


SOURCE = Source(
    "slurm",
    METRICS,
    read,
    slow=True,
    every=15,
    options=(
        SourceOption(
            "poll", AUTO, "Where Slurm is polled: auto (on its controller), always (here), never", _choice
        ),
        SourceOption("interval", INTERVAL_SECONDS, "Seconds between two polls, at least 10", _interval),
        SourceOption("conf", "", "Path of slurm.conf (default: SLURM_CONF, then the usual places)"),
        SourceOption("commands", "", "Directory of scontrol, sdiag and sshare (default: PATH)"),
    ),
)
