"""A real Slurm of one controller and two nodes with eight GPUs each, all on this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench.programs import free_port

from tests.real.waiting import until

PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "mariadbd",
    "mariadb-install-db",
    "sbatch",
    "scontrol",
)
ACCOUNTS = {"root": "research", "nobody": "prod"}  # users that every machine has
SLURM_CONF = """
ClusterName=real
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.sock
ProctrackType={proctrack}
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
GresTypes=gpu
ReturnToService=2
SlurmctldPort={controller}
SlurmdPort={node1}
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd-%n.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd-%n.log
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool/%n
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
PriorityType=priority/multifactor
PriorityWeightFairShare=1000
SchedulerParameters=bf_interval=3,sched_interval=3,bf_continue
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={database}
AccountingStorageTRES=gres/gpu
AccountingStoragePass={home}/munge.sock
MinJobAge=300
KillWait=2
InactiveLimit=0
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node1} CPUs=16 RealMemory=4000 Gres=gpu:h100:8
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={node2} CPUs=16 RealMemory=4000 Gres=gpu:h100:8
PartitionName=gpu Nodes=n[1-2] Default=YES MaxTime=INFINITE DefaultTime=60 State=UP
"""
SLURMDBD_CONF = """
AuthType=auth/munge
AuthInfo=socket={home}/munge.sock
DbdHost=localhost
DbdPort={database}
SlurmUser=root
PidFile={home}/slurmdbd.pid
LogFile={home}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
"""


class SlurmCluster:
    """Its commands, and its daemons by their processes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.conf = home / "slurm.conf"
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(self.conf),
            "MYSQL_UNIX_PORT": str(home / "mysql.sock"),
        }

    def run(self, *command: str, check: bool = True) -> str:
        """Return what a command of Slurm prints."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=60, check=False, cwd="/tmp"
        )
        if check and done.returncode:
            pytest.fail(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def submit(self, script: str, *options: str) -> str:
        """Submit a job, and return its id."""
        said = self.run("sbatch", "--parsable", "-o", "/dev/null", "-D", "/tmp", *options, "--wrap", script)
        return said.strip().partition(";")[0]

    def allocate(self, *options: str) -> str:
        """Have GPUs allocated without any process, and return the id of the job."""
        done = subprocess.run(
            ["salloc", "--no-shell", *options],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd="/tmp",
        )
        return done.stderr.rpartition("Granted job allocation ")[2].split()[0]

    def state(self, job: str) -> str:
        """Return the state of a job, as squeue has it."""
        return self.run("squeue", "-a", "-h", "-j", job, "-o", "%T", "--states=all", check=False).strip()

    def wait_for(self, job: str, *states: str) -> None:
        until(lambda: self.state(job) in states, f"job {job} is {' or '.join(states)}")


@contextlib.contextmanager
def running_slurm(
    need: Callable[[str], str], proctrack: str = "proctrack/linuxproc"
) -> Iterator[SlurmCluster]:
    """Start all of Slurm, and end it."""
    for program in PROGRAMS:
        need(program)
    if os.geteuid():
        pytest.skip("Slurm's daemons need root")
    home = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    home.chmod(0o755)
    cluster = SlurmCluster(home)
    with contextlib.ExitStack() as opened:
        opened.callback(shutil.rmtree, home, ignore_errors=True)
        _configure(home, proctrack)
        _start_munge(cluster, opened)
        _start_database(cluster, opened)
        _start_daemon(cluster, opened, "slurmctld", "-D")
        for node in ("n1", "n2"):
            _start_daemon(cluster, opened, "slurmd", "-D", "-N", node)
        until(
            lambda: cluster.run("sinfo", "-h", "-o", "%D %t", check=False).strip() == "2 idle",
            "two nodes are idle",
        )
        opened.callback(_cancel_all, cluster)
        yield cluster


def _configure(home: Path, proctrack: str) -> None:
    words = {"home": home, "host": socket.gethostname().partition(".")[0], "proctrack": proctrack}
    ports = {name: free_port() for name in ("controller", "database", "node1", "node2")}
    for name in ("state", "spool", "spool/n1", "spool/n2"):
        (home / name).mkdir()
    for gpu in range(8):
        (home / f"gpu{gpu}").touch()
    (home / "slurm.conf").write_text(SLURM_CONF.format(**words, **ports))
    (home / "gres.conf").write_text(f"NodeName=n[1-2] Name=gpu Type=h100 File={home}/gpu[0-7]\n")
    (home / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n")
    (home / "slurmdbd.conf").write_text(SLURMDBD_CONF.format(**words, **ports))
    (home / "slurmdbd.conf").chmod(0o600)
    (home / "munge.key").write_bytes(os.urandom(1024))
    (home / "munge.key").chmod(0o600)


def _start_munge(cluster: SlurmCluster, opened: contextlib.ExitStack) -> None:
    names = {"key-file": "munge.key", "socket": "munge.sock", "pid-file": "munged.pid"}
    names |= {"log-file": "munged.log", "seed-file": "munge.seed"}
    flags = [f"--{flag}={cluster.home / name}" for flag, name in names.items()]
    _start(cluster, opened, "munged", "--foreground", "--force", *flags)
    until((cluster.home / "munge.sock").exists, "munged listens")


def _start_database(cluster: SlurmCluster, opened: contextlib.ExitStack) -> None:
    data = cluster.home / "mysql"
    here = ["--no-defaults", f"--datadir={data}", "--user=root"]
    cluster.run("mariadb-install-db", *here, "--auth-root-authentication-method=normal", "--skip-test-db")
    socket_path = cluster.environment["MYSQL_UNIX_PORT"]
    small = ["--skip-networking", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]
    _start(cluster, opened, "mariadbd", *here, f"--socket={socket_path}", f"--pid-file={data}/pid", *small)
    until(Path(socket_path).exists, "the database listens")
    _start_daemon(cluster, opened, "slurmdbd", "-D")
    manage = ["sacctmgr", "-i"]
    until(lambda: "real" in cluster.run(*manage, "add", "cluster", "real", check=False), "slurmdbd replies")
    for user, account in ACCOUNTS.items():
        cluster.run(*manage, "add", "account", account, "cluster=real", check=False)
        cluster.run(
            *manage, "add", "user", user, f"account={account}", f"defaultaccount={account}", check=False
        )


def _start_daemon(cluster: SlurmCluster, opened: contextlib.ExitStack, program: str, *flags: str) -> None:
    _start(cluster, opened, program, *flags)


def _start(
    cluster: SlurmCluster, opened: contextlib.ExitStack, program: str, *flags: str
) -> subprocess.Popen[bytes]:
    """Start a daemon in the foreground; it is ended, by its process, with the rest."""
    path = shutil.which(program) or f"/usr/sbin/{program}"
    log = opened.enter_context((cluster.home / f"{program}.out").open("ab"))
    process = subprocess.Popen(
        [path, *flags], env=cluster.environment, stdout=log, stderr=log, cwd=cluster.home
    )
    opened.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _cancel_all(cluster: SlurmCluster) -> None:
    """End every job, so that no step outlives its node."""
    cluster.run("scancel", "-s", "KILL", "--full", *_jobs(cluster), check=False)
    cluster.run("scancel", *_jobs(cluster), check=False)
    deadline = time.monotonic() + 20
    while _jobs(cluster) and time.monotonic() < deadline:
        time.sleep(0.2)


def _jobs(cluster: SlurmCluster) -> list[str]:
    return cluster.run("squeue", "-a", "-h", "-o", "%A", check=False).split()
