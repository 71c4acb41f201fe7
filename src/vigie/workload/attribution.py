"""From a process to everybody it runs for: user, job and step, container, pod, genv environment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vigie.sources.core.host import Host
from vigie.workload.process import ProcessIdentity, ProcessStat, read_identity, read_stat, user_name
from vigie.workload.runtimes import Container, Runtimes

MAX_KNOWN = 4096  # processes
JOB_FACTS = (
    ("SLURM_JOB_NAME", "name"),
    ("SLURM_JOB_ACCOUNT", "account"),
    ("SLURM_JOB_PARTITION", "partition"),
)


class Holder(NamedTuple):
    """One of those that a process runs for."""

    kind: str
    name: str
    user: str
    facts: dict[str, str]


class Attribution(NamedTuple):
    """A process, with whom it runs for; what is not known is empty."""

    process: ProcessIdentity
    user: str  # the job's, where the process has another inside its container
    job: str = ""
    step: str = ""
    container: Container | None = None
    environment: str = ""

    @property
    def pod(self) -> str:
        """Return namespace and name of the pod, or its uid, or nothing."""
        named = self.container.pod if self.container else ""
        return named or self.process.cgroup.pod

    def holders(self) -> Iterator[Holder]:
        """Yield everybody; the user alone only where nobody else is, as all others name the user too."""
        variables = self.process.variables
        if self.job:
            facts = {fact: variables[name] for name, fact in JOB_FACTS if name in variables}
            yield Holder("job", self.job, self.user, facts)
        more = {"job": self.job} if self.job else {}
        if self.container:
            image = {"image": self.container.image} if self.container.image else {}
            yield Holder("container", self.container.label, self.user, {**image, **more})
        if self.pod:
            yield Holder("pod", self.pod, self.user, more)
        if self.environment:
            name = variables.get("GENV_ENVIRONMENT_NAME", "")
            yield Holder("environment", self.environment, self.user, {"name": name} if name else {})
        if self.user and not (self.job or self.container or self.pod or self.environment):
            yield Holder("user", self.user, self.user, {"command": self.process.command})


class Attributor:
    """Finds whom processes run for, and remembers it while they live."""

    def __init__(self, host: Host, sockets: str = "", *, whole_commands: bool = False) -> None:
        self._host, self._whole = host, whole_commands
        self.runtimes = Runtimes(host, sockets)
        self._known: OrderedDict[tuple[int, int], ProcessIdentity] = OrderedDict()
        self._jobs: OrderedDict[str, str] = OrderedDict()  # by SLUID

    def attribute(self, pids: Iterable[int]) -> dict[int, Attribution]:
        """Return whom each of these processes runs for; those that have ended are left out."""
        stats = ((pid, read_stat(self._host, pid)) for pid in pids)
        return self.attribute_read({pid: stat for pid, stat in stats if stat is not None})

    def attribute_read(self, stats: Mapping[int, ProcessStat]) -> dict[int, Attribution]:
        """Return whom processes run for that were just looked at."""
        found = {pid: self.identity(pid, stat) for pid, stat in stats.items()}
        ids = {one.cgroup.container for one in found.values() if one.cgroup.container}
        known = self.runtimes.find(ids)
        return {pid: self._attribution(one, known) for pid, one in found.items()}

    def identity(self, pid: int, stat: ProcessStat) -> ProcessIdentity:
        """Return who a process is; one that has called exec is looked at again."""
        key = pid, stat.start_ticks
        known = self._known.get(key)
        if known is None or known.name != stat.name:
            known = self._known[key] = read_identity(self._host, pid, stat, whole_command=self._whole)
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return known

    def _attribution(self, process: ProcessIdentity, known: dict[str, Container]) -> Attribution:
        cgroup, variables = process.cgroup, process.variables
        job = cgroup.job or self._job_of(cgroup.sluid, variables)
        user = process.user
        if job:
            uid = int(cgroup.uid) if cgroup.uid else -1
            user = user_name(self._host, uid) or variables.get("SLURM_JOB_USER", "") or user
        step = cgroup.step or (variables.get("SLURM_STEP_ID", "") if job else "")
        container = _container(process, known)
        return Attribution(process, user, job, step, container, variables.get("GENV_ENVIRONMENT_ID", ""))

    def _job_of(self, sluid: str, variables: Mapping[str, str]) -> str:
        """Return a job's number as its processes tell it; one that has told it tells for all of its SLUID."""
        number = variables.get("SLURM_JOB_ID", "")
        number = number if number.isdecimal() and len(number) <= 10 else ""
        if not sluid:
            return number
        # Ranks of a heterogeneous job carry the number of its first component, and that one's SLUID.
        if number and variables.get("SLURM_JOB_SLUID") == sluid:
            self._jobs[sluid] = number
            if len(self._jobs) > MAX_KNOWN:
                self._jobs.popitem(last=False)
        return self._jobs.get(sluid, "")


def _container(process: ProcessIdentity, known: dict[str, Container]) -> Container | None:
    cgroup, variables = process.cgroup, process.variables
    if cgroup.container:
        return known.get(cgroup.container) or Container(cgroup.container, cgroup.runtime)
    for kind in ("APPTAINER", "SINGULARITY"):  # these leave no cgroup of their own
        image = variables.get(f"{kind}_CONTAINER", "")
        name = variables.get(f"{kind}_NAME", "")
        if name or image:
            return Container(name or image, kind.lower(), name, image)
    return None
