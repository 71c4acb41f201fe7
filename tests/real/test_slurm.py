"""A real Slurm: the source says what squeue, sinfo and sdiag print, and so do the pages."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.programs import free_port

from tests.dashboards.asking import questions
from tests.real.conftest import need
from tests.real.slurm_cluster import SlurmCluster, running_slurm
from tests.real.waiting import until
from vigie.dashboards import all_dashboards
from vigie.model import Binding
from vigie.simulation.nvml import gpu_models
from vigie.simulation.nvml.build import build
from vigie.simulation.nvml.driver import SimulatedDriver
from vigie.sources.core.host import Host, SystemCalls
from vigie.workload.slurm_controller import SOURCE

pytestmark = pytest.mark.real

ODD_NAME = "a=b |c, JobState=FAKE  d"
FOREVER = "sleep 3000"
BACKFILLED = ("-t", "5")  # so short that it does not delay the job that waits for two whole nodes


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    with running_slurm(need) as started:
        yield started


class SkippingClock(SystemCalls):
    """The real time, but for what a test skips."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


class Reader:
    """The source on the controller's machine, read as an agent does."""

    def __init__(self, cluster: SlurmCluster) -> None:
        self.clock = SkippingClock()
        self.host = Host(calls=self.clock, options={"conf": str(cluster.conf), "interval": "60"})

    def poll(self) -> dict[tuple[str, ...], float]:
        """Let an interval pass, and return the figures."""
        self.clock.skipped += 60
        self.host.bindings.clear()
        self.host.notes.clear()
        return {(metric.name, *labels): float(value or 0) for metric, labels, value in SOURCE.read(self.host)}

    def held(self, job: str) -> set[tuple[str, str]]:
        """Return what a job holds, as node and resource."""
        return {
            (node_of(one), one.resource)
            for one in self.host.bindings
            if one.holder == job and one.to_ms is None
        }

    def ended(self, job: str) -> list[Binding]:
        return [one for one in self.host.bindings if one.holder == job and one.to_ms is not None]


def node_of(binding: Binding) -> str:
    return binding.node_names[0] if binding.node_names else ""


@pytest.fixture(scope="module")
def jobs(cluster: SlurmCluster) -> dict[str, str]:
    """Submit jobs of every kind, and wait until each is where it shall be."""
    made = {
        "failed": cluster.submit("exit 3", "-J", "fails"),
        "completed": cluster.submit("true", "--gres=gpu:1", "-J", ODD_NAME),
        "cancelled": cluster.submit(FOREVER, "-J", "dropped", "--gres=gpu:1"),
        "running": cluster.submit(FOREVER, "-J", "train", "--gres=gpu:2", "-n", "2", "-w", "n1"),
        "of nobody": cluster.submit(FOREVER, "--uid=nobody", "-J", ODD_NAME, "--gres=gpu:3", "-w", "n2"),
        "without process": cluster.allocate("-J", "idle hold", "--gres=gpu:1", "-w", "n2"),
        "cpu only": cluster.submit(FOREVER, "-J", "cpu", "-w", "n1"),
        "array": cluster.submit(FOREVER, "-J", "sweep", "--array=0-3%1", "--gres=gpu:1", "-w", "n1"),
    }
    for name, state in (("failed", "FAILED"), ("completed", "COMPLETED"), ("cancelled", "RUNNING")):
        cluster.wait_for(made[name], state)
    cluster.run("scancel", made["cancelled"])
    for name in ("running", "of nobody", "without process", "cpu only"):
        cluster.wait_for(made[name], "RUNNING")
    cluster.wait_for(made["cancelled"], "CANCELLED")
    made["dependent"] = cluster.submit("true", "-J", "after", f"--dependency=afterok:{made['running']}")
    made["too large"] = cluster.submit("true", "-J", "large", "-N2", "--gres=gpu:8")
    cluster.wait_for(made["dependent"], "PENDING")
    until(
        lambda: "Resources" in cluster.run("squeue", "-h", "-j", made["too large"], "-o", "%r"), "Resources"
    )
    return made


def squeue(cluster: SlurmCluster, form: str) -> list[list[str]]:
    lines = cluster.run("squeue", "-a", "-r", "-h", "--states=all", "-o", form).splitlines()
    return [line.split("|") for line in lines]


def test_figures_are_those_of_squeue_sinfo_and_sdiag(cluster: SlurmCluster, jobs: dict[str, str]) -> None:
    found = Reader(cluster).poll()
    rows = squeue(cluster, "%T|%r|%u|%a|%C")
    states = Counter(row[0] for row in rows)
    for state in ("pending", "running", "completed", "failed", "cancelled", "completing", "timeout"):
        assert found["slurm_queue_" + state,] == states[state.upper()], (state, rows)
    assert found["slurm_queue_pending_dependency",] == sum(row[1] == "Dependency" for row in rows) == 1
    for label, column in (("user", 2), ("account", 3)):
        for name in {row[column] for row in rows}:
            mine = [row for row in rows if row[column] == name]
            running = [row for row in mine if row[0] == "RUNNING"]
            assert found[f"slurm_{label}_jobs_running", name] == len(running)
            assert found[f"slurm_{label}_cpus_running", name] == sum(int(row[4]) for row in running)
            assert found[f"slurm_{label}_jobs_pending", name] == sum(row[0] == "PENDING" for row in mine)
    cpus = [int(word) for word in cluster.run("sinfo", "-h", "-o", "%C").strip().split("/")]
    assert [found[f"slurm_cpus_{word}",] for word in ("alloc", "idle", "other", "total")] == cpus
    assert found["slurm_partition_jobs_pending", "gpu"] == states["PENDING"]
    for line in cluster.run(
        "sinfo", "-h", "-N", "-O", "NodeList,AllocMem,Memory,CPUsState,StateLong"
    ).splitlines():
        node, memory, total, of_cpus, state = line.split()
        assert found["slurm_node_mem_alloc", node, state] == int(memory)
        assert found["slurm_node_mem_total", node, state] == int(total)
        words = [found[f"slurm_node_cpu_{word}", node, state] for word in ("alloc", "idle", "other", "total")]
        assert words == [int(part) for part in of_cpus.split("/")]
    assert found["slurm_gpus_total",] == 16
    allocated = cluster.run("squeue", "-h", "--states=RUNNING", "-O", "tres-alloc:200")
    assert found["slurm_gpus_alloc",] == sum(map(int, re.findall(r"gres/gpu=(\d+)", allocated))) == 7
    assert found["slurm_account_fairshare", "prod"] > 0


def test_scheduler_is_what_sdiag_says(cluster: SlurmCluster, jobs: dict[str, str]) -> None:
    def agree() -> bool:
        before = cluster.run("sdiag")
        found = Reader(cluster).poll()
        rows = [line.strip().partition(":")[::2] for line in before.splitlines()]
        said = [(name, int(value)) for name, value in rows if value.strip().isdecimal()]
        first = dict(reversed(said))  # of two lines of one name the first is the scheduler's
        return (
            found["slurm_scheduler_last_cycle",] == first["Last cycle"]
            and found["slurm_scheduler_mean_cycle",] == first["Mean cycle"]
            and found["slurm_scheduler_backfilled_jobs_since_start_total",]
            == first["Total backfilled jobs (since last slurm start)"]
            and found["slurm_scheduler_backfill_depth_mean",] == first["Depth Mean"]
        )

    until(agree, "sdiag and the source agree between two cycles")


def test_bindings_begin_within_an_interval_and_end_with_the_job(
    cluster: SlurmCluster, jobs: dict[str, str]
) -> None:
    reader = Reader(cluster)
    reader.poll()
    assert {node for node, _ in reader.held(jobs["running"])} == {"n1"}
    assert len(reader.held(jobs["running"])) == 2
    assert reader.held(jobs["cpu only"]) == {("n1", "node")}
    assert {resource[:4] for _, resource in reader.held(jobs["without process"])} == {"gpu:"}
    assert reader.held(jobs["too large"]) == {("", "queue")}
    new = cluster.submit(FOREVER, *BACKFILLED, "-J", "brief", "--gres=gpu:1", "-w", "n2")
    cluster.wait_for(new, "RUNNING")
    reader.poll()
    ((node, gpu),) = reader.held(new)
    assert node == "n2"
    cluster.run("scancel", new)
    cluster.wait_for(new, "CANCELLED")
    reader.poll()
    assert reader.held(new) == set()
    (over,) = [one for one in reader.ended(new) if one.gpu]
    assert (over.resource, over.facts["state"]) == (gpu, "CANCELLED")
    begin, end = cluster.run("squeue", "-h", "-j", new, "--states=all", "-o", "%S %e").split()
    moments = [time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) * 1000 for text in (begin, end)]
    assert [over.from_ms, over.to_ms] == moments


def test_states_reasons_exit_codes_and_arrays_are_facts(cluster: SlurmCluster, jobs: dict[str, str]) -> None:
    reader = Reader(cluster)
    reader.poll()
    facts = {one.holder: one.facts for one in reader.host.bindings}
    assert (facts[jobs["failed"]]["state"], facts[jobs["failed"]]["exit_code"]) == ("FAILED", "3:0")
    assert facts[jobs["completed"]]["name"] == ODD_NAME
    assert facts[jobs["of nobody"]]["account"] == "prod"
    assert facts[jobs["dependent"]]["reason"] == "Dependency"
    arrays = {fact["array"] for fact in facts.values() if "array" in fact}
    assert {f"{jobs['array']}_0", f"{jobs['array']}_[1-3%1]"} <= arrays
    users = {one.holder: one.user for one in reader.host.bindings}
    assert users[jobs["of nobody"]] == "nobody"


def test_short_jobs_between_two_polls_have_slurms_own_gpu_seconds(
    cluster: SlurmCluster, jobs: dict[str, str]
) -> None:
    reader = Reader(cluster)
    reader.poll()
    short = [
        cluster.submit("sleep 1", *BACKFILLED, "-J", "short", "--gres=gpu:2", "-w", "n2") for _ in range(3)
    ]
    for job in short:
        cluster.wait_for(job, "COMPLETED")
    reader.poll()
    for job in short:
        (over,) = [one for one in reader.ended(job) if one.resource == "node"]
        elapsed = cluster.run("squeue", "-h", "-j", job, "--states=all", "-O", "TimeUsed").strip()
        minutes, seconds = elapsed.split(":")
        assert over.facts["held_gpus"] == "2"
        assert (over.to_ms or 0) - over.from_ms == (int(minutes) * 60 + int(seconds)) * 1000


def test_controller_that_hangs_leaves_the_last_state_and_delays_nobody(
    cluster: SlurmCluster, jobs: dict[str, str]
) -> None:
    reader = Reader(cluster)
    before = reader.poll()
    pid = int((cluster.home / "slurmctld.pid").read_text())
    os.kill(pid, signal.SIGSTOP)
    try:
        during = reader.poll()
        assert reader.host.cache["poller"].is_asking  # and nobody waits for it
        assert during["slurm_queue_running",] == before["slurm_queue_running",]
        until(lambda: not reader.host.cache["poller"].is_asking, "Slurm's own deadline")
        assert reader.poll()["vigie_slurm_up",] == 0
        assert "timed out" in reader.host.notes["slurmctld"]
    finally:
        os.kill(pid, signal.SIGCONT)
    reader.clock.skipped += 600
    until(lambda: reader.poll()["vigie_slurm_up",] == 1, "it replies again")


class Site:
    """A server and the agents of the controller and of both nodes, on the real Slurm."""

    def __init__(self, home: Path, url: str) -> None:
        self.home, self.url = home, url

    def get(self, path: str, **parameters: str) -> Any:
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        with urllib.request.urlopen(f"{self.url}{path}{query}", timeout=60) as answer:
            return json.load(answer)

    def query(self, promql: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/api/v1/query", query=promql)["data"]["result"]
        return found

    def command(self, *words: str) -> str:
        line = [
            sys.executable,
            "-m",
            "vigie",
            *words,
            "--server",
            self.url,
            "--data",
            str(self.home / "server"),
        ]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.fixture(scope="module")
def site(
    cluster: SlurmCluster, jobs: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    need("cc")
    home = Path(tmp_path_factory.mktemp("site"))
    url = f"http://127.0.0.1:{free_port()}"
    base = [sys.executable, "-m", "vigie"]
    config = home / "head.toml"
    config.write_text(f'[source.slurm]\nconf = "{cluster.conf}"\ninterval = "10"\n')
    driver = SimulatedDriver(home / "driver", build(home), gpu_models.h100())
    gpus = ["--sources", "nvidia,nvidia_profiling,nvidia_processes", f"--nvml-library={driver.library}"]
    with contextlib.ExitStack() as opened:

        def start(*words: str) -> None:
            process = subprocess.Popen([*base, *words], stderr=subprocess.DEVNULL)
            opened.callback(process.wait, 60)
            opened.callback(process.terminate)

        start("server", "--listen", url.removeprefix("http://"), "--data", str(home / "server"))
        until(lambda: urllib.request.urlopen(f"{url}/readyz", timeout=5).status == 200, "the server is ready")
        for node, flags in (
            ("head", ["--sources", "slurm", "--config", str(config)]),
            ("n1", gpus),
            ("n2", gpus),
        ):
            common = ["--server", url, "--token-file", str(home / "server/join-token"), "--cadence", "1"]
            common += ["--listen", f"127.0.0.1:{free_port()}", "--data", str(home / node), "--node", node]
            start("agent", *common, "--socket", str(home / f"{node}.sock"), *flags)
        started = Site(home, url)
        until(lambda: started.query("slurm_queue_running"), "Slurm's figures")
        until(
            lambda: started.query('vigie_holder_info{instance="n2",gpu!=""}'), "allocations of another node"
        )
        yield started


def test_jobs_of_all_nodes_are_known_to_the_server(site: Site, jobs: dict[str, str]) -> None:
    found = {job["id"]: job for job in site.get("/api/jobs", limit="200")["jobs"]}
    running = found[jobs["running"]]
    assert (running["state"], running["user"], running["nodes"]) == ("running", "root", ["n1"])
    assert len(running["gpus"]) == 2
    assert found[jobs["without process"]]["gpus"][0].startswith("n2:")
    assert found[jobs["dependent"]]["facts"]["reason"] == "Dependency"
    assert found[jobs["of nobody"]]["name"] == ODD_NAME
    assert found[jobs["failed"]]["facts"]["exit_code"] == "3:0"
    assert found[jobs["running"]]["queued_ms"] <= running["start_ms"]


def test_pages_show_what_slurm_says(site: Site, jobs: dict[str, str]) -> None:
    def listed() -> dict[str, Any]:
        rows = {row["id"]: row for row in site.get("/api/pages/jobs")["jobs"]}
        return rows if set(jobs.values()) <= rows.keys() else {}

    rows = until(listed, "every job is on the page")
    assert rows[jobs["running"]]["account"] == "research"
    assert rows[jobs["failed"]]["reason"] == "FAILED, exit code 3"
    assert f"{jobs['array']}_0" in {row["array"] for row in rows.values()}
    assert rows[jobs["too large"]]["wanted_gpus"] == 16
    job = site.get(f"/api/pages/jobs/{jobs['without process']}")
    assert job["job"]["name"] == "idle hold"
    assert len(job["ranks"]) == 1
    user = site.get("/api/pages/users/nobody")
    assert "nobody" in json.dumps(user)
    cluster_page = site.get("/api/pages/cluster")
    cells = [cell for node in cluster_page["nodes"] for cell in node["cells"] if cell["holder"]]
    assert {cell["holder"]["id"] for cell in cells} >= {
        jobs["running"],
        jobs["of nobody"],
        jobs["without process"],
    }


def test_commands_show_who_has_which_gpu(site: Site, jobs: dict[str, str]) -> None:
    who = site.command("who")
    assert [line for line in who.splitlines() if "n2" in line and "idle hold" in line]
    listed = site.command("jobs")
    assert [
        line for line in listed.splitlines() if line.split()[0] == jobs["too large"] and "waiting" in line
    ]


def test_drained_node_is_an_incident_with_its_reason(site: Site, cluster: SlurmCluster) -> None:
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=fan 3 (ticket=12)")
    try:
        until(
            lambda: [
                event
                for event in site.get("/api/events", kind="node_drained")["events"]
                if "fan 3 (ticket=12)" in json.dumps(event)
            ],
            "the event of another node",
        )
        (event,) = site.get("/api/events", kind="node_drained")["events"]
        assert event["where"]["node"] == "n2"
        until(lambda: site.query('slurm_node_cpu_total{node="n2",status=~"drain.*"}'), "its state")
    finally:
        cluster.run("scontrol", "update", "nodename=n2", "state=resume")


@pytest.mark.parametrize("slug", ["slurm", "jobs"])
def test_no_panel_is_empty_on_real_slurm(site: Site, slug: str) -> None:
    (board,) = [board for board in all_dashboards() if board.slug == slug]
    asked = list(questions(board))

    def empty() -> list[str]:
        return [one.id for one in asked if not site.query(one.text)]

    # The first minute of slurmctld has no cycles per minute yet.
    until(lambda: not empty(), f"every panel has data, also {empty()}", 120)


def test_device_series_do_not_multiply_with_jobs(site: Site, cluster: SlurmCluster) -> None:
    def devices() -> dict[str, str]:
        counts = site.query('count by (instance, gpu) ({__name__=~"vigie_gpu_.*|DCGM_.*", gpu!=""})')
        return {str(one["metric"]): one["value"][1] for one in counts}

    def complete() -> bool:
        profiled = len(site.query("DCGM_FI_PROF_SM_ACTIVE")) == len(devices()) == 16
        return profiled and len(set(devices().values())) == 1

    until(complete, "every GPU has all its series")
    before = devices()
    array = cluster.submit("true", *BACKFILLED, "-J", "tiny", "--array=1-40", "--gres=gpu:1", "-w", "n2")
    until(lambda: not cluster.run("squeue", "-h", "-j", array, check=False).strip(), "the array is done")

    def finished() -> int:
        found = site.get("/api/jobs", limit="500")["jobs"]
        return sum(job["name"] == "tiny" and job["state"] == "finished" for job in found)

    until(lambda: finished() == 40, "forty jobs are known")
    assert devices() == before


def test_jobs_in_cgroups_are_held_by_the_id_that_their_cgroup_names() -> None:
    if not os.access("/sys/fs/cgroup/freezer", os.W_OK):
        pytest.skip("proctrack/cgroup needs cgroup v1's freezer, or systemd")
    with running_slurm(need, "proctrack/cgroup") as cluster:
        job = cluster.submit(FOREVER, "--gres=gpu:2", "-w", "n1")
        cluster.wait_for(job, "RUNNING")
        reader = Reader(cluster)
        reader.poll()
        assert reader.held(job) == {("n1", "gpu:0"), ("n1", "gpu:1")}

        def in_cgroup() -> bool:
            listed = cluster.run("scontrol", "listpids", job, "n1", check=False).splitlines()[1:]
            pids = [line.split()[0] for line in listed]
            return any(f"/job_{job}/" in Path(f"/proc/{pid}/cgroup").read_text() for pid in pids)

        until(in_cgroup, "its processes are in the cgroup of the job")
