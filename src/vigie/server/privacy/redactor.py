"""`privacy = own`: names, jobs and commands of others are pseudonyms in every answer; `hide_hosts`: hosts.

A pseudonym is the same wherever a name stands, so that answers can still be joined and counted, and is made
with a key of this server, so that nobody can try names until one fits.
"""

from __future__ import annotations

import copy
import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from vigie.server.cluster.bindings import StoredBinding
from vigie.server.cluster.jobs import JobRecord
from vigie.server.identity import Identity

DIGITS = 10
# Labels whose values tell of people, and what kind of word stands instead.
LABELS = {
    "user": "user",
    "username": "user",
    "owner": "user",
    "uid": "user",
    "account": "account",
    "holder": "job",
    "job_id": "job",
    "jobid": "job",
    "slurm_job_id": "job",
    "hpc_job": "job",
    "exported_job": "job",
    "job_name": "name",
    "command": "command",
    "cmdline": "command",
    "comm": "command",
    "exe": "command",
    "eid": "environment",
    "environment": "environment",
    "cgroup": "cgroup",
    "measure": "measure",
    "container": "container",
    "pod": "pod",
}
# Labels that tell of people only in some families of series.
FAMILIES = {
    "container_": {"name": "container", "image": "image"},
    "vigie_process_": {"name": "command"},
}
OF_FAMILIES = frozenset(label for labels in FAMILIES.values() for label in labels)
OF_CONTAINERS = "container_label_"  # begins labels that containers' owners have written
CONTAINERS = "container_"
HOST = "node"  # the kind of word that stands for a host
HOSTS = dict.fromkeys(
    (
        "instance",
        "exported_instance",
        "node",
        "nodename",
        "domainname",
        "host",
        "hostname",
        "Hostname",
        "host_cpu",
        "host_gpu",
        "address",
        "ip",
        "server",
    ),
    HOST,
)
# Labels that tell of people only when they hold a path of cgroups.
PATHS = {"id": "/", "resource": "cgroup:"}
USERS = ("user", "username", "owner")
JOBS = ("job_id", "jobid", "slurm_job_id", "hpc_job", "holder")
# Facts of a job that tell nothing of its owner.
HARMLESS = ("reason", "limit", "partition", "state", "gpus", "held_gpus", "exit_code", "restarts")
_mask: ContextVar[Pseudonyms | None] = ContextVar("mask", default=None)


class Redactor:
    """Gives jobs, users and bindings the names under which a caller sees them."""

    def __init__(self, mask: Pseudonyms | None) -> None:
        self._mask = mask

    def job(self, job: JobRecord) -> dict[str, Any]:
        return self._mask.job(job.json) if self._mask else job.json

    def job_id(self, job: JobRecord) -> str:
        """Return the name under which the caller knows a job."""
        return str(self.job(job)["id"])

    def owns(self, job: JobRecord) -> bool:
        """Tell whether a job is the caller's, or nobody's names are hidden."""
        return self._mask is None or self._mask.owns(job.user, job.id)

    def binding(self, kept: StoredBinding) -> dict[str, Any]:
        return self._mask.binding(kept.json) if self._mask else kept.json

    def user(self, name: str) -> str:
        return self._mask.user(name) if self._mask else name

    @property
    def hides_hosts(self) -> bool:
        """Tell whether hosts have other names for the caller."""
        return self._mask is not None and self._mask.hosts

    def host(self, name: str) -> str:
        return self._mask.word(HOST, name) if self._mask and self._mask.hosts else name

    def event(self, row: dict[str, Any]) -> dict[str, Any]:
        return self._mask.event(row) if self._mask else row

    def meant_job(self, name: str, jobs: Iterable[JobRecord]) -> JobRecord | None:
        """Return the job that the caller means by a name as he sees it."""
        return next((job for job in jobs if self.job_id(job) == name), None)

    def meant_user(self, name: str, users: Iterable[str]) -> str | None:
        """Return the user that the caller means by a name as he sees it."""
        return next((user for user in users if self.user(user) == name), None)


class Pseudonyms:
    """What one caller sees: his own as it is, and of others pseudonyms; of hosts, too, if they are hidden."""

    def __init__(
        self,
        key: bytes,
        name: str,
        jobs: Collection[str] = (),
        labels: Mapping[str, str] = LABELS,
        *,
        containers: Collection[tuple[str, str]] = (),
        people: bool = True,
        hosts: bool = False,
    ) -> None:
        self.name, self.jobs, self.hosts = name, jobs, hosts
        self._containers = containers  # of the caller, with their nodes
        self._key, self._people = key, people
        self._labels = {**(labels if people else {}), **(HOSTS if hosts else {})}
        self._paths = PATHS if people else {}
        self._words: dict[tuple[str, str], str] = {}

    def word(self, kind: str, text: str) -> str:
        """Return the pseudonym; what is empty stays so."""
        if not text:
            return ""
        found = self._words.get((kind, text))
        if found is None:
            digest = hmac.new(self._key, f"{kind}\0{text}".encode("utf-8", "replace"), hashlib.sha256)
            found = self._words[kind, text] = f"{kind}-{digest.hexdigest()[:DIGITS]}"
        return found

    def hides(self, label: str) -> bool:
        """Tell whether values of a label may be pseudonyms."""
        if label in self._labels or label in self._paths:
            return True
        return self._people and (label in OF_FAMILIES or label.startswith(OF_CONTAINERS))

    def owns(self, user: str, job: str = "") -> bool:
        """Tell whether something is as good as his: by its user, or if nobody is named, by its job."""
        if not self._people:
            return True
        if user:
            return user == self.name
        return bool(job) and job in self.jobs

    def labels(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        """Return the labels of a series as the caller sees them."""
        family = self._family(labels.get("__name__", ""))
        hidden = [
            name
            for name in labels
            if name in self._labels or name in family or labels[name].startswith(self._path(name))
        ]
        if self._people and labels.get("__name__", "").startswith(CONTAINERS):
            hidden += [name for name in labels if name.startswith(OF_CONTAINERS)]
        if hidden and self._owns_series(labels):
            hidden = [name for name in hidden if self._labels.get(name) == HOST]
        return {**labels, **{name: self._hidden(name, labels) for name in hidden}} if hidden else labels

    def _owns_series(self, labels: Mapping[str, str]) -> bool:
        if self.owns(_first(labels, USERS), _first(labels, JOBS)):
            return True
        return (labels.get("instance", ""), labels.get("name", "")) in self._containers and labels.get(
            "__name__", ""
        ).startswith(CONTAINERS)

    def _family(self, metric: str) -> Mapping[str, str]:
        if not self._people:
            return {}
        return next((labels for prefix, labels in FAMILIES.items() if metric.startswith(prefix)), {})

    def binding(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a binding, ready for JSON, as the caller sees it."""
        job = row["holder"] if row["kind"] == "job" else ""
        if self.owns(row["user"], job):
            return row
        cgroup = row["resource"].startswith("cgroup:")
        return {
            **row,
            "user": self.word("user", row["user"]),
            "holder": self.word(row["kind"], row["holder"]),
            "resource": self.word("cgroup", row["resource"]) if cgroup else row["resource"],
            "facts": _harmless(row["facts"]),
        }

    def job(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a job, ready for JSON, as the caller sees it."""
        if self.owns(row["user"], row["id"]):
            return row
        hidden = {
            "id": self.word("job", row["id"]),
            "user": self.word("user", row["user"]),
            "name": self.word("name", row["name"]),
        }
        return {**row, **hidden, "facts": _harmless(row["facts"])}

    def event(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return an event, ready for JSON, as the caller sees it; its sentence may name whom it hit."""
        told, what = row["where"], row["what"]
        if self.owns(_first(told, USERS), _first(told, ("job", *JOBS))):
            return row
        kinds = {**self._labels, "job": "job"}  # on a series that is the target's
        where = {name: self.word(kinds[name], text) if name in kinds else text for name, text in told.items()}
        for name in sorted(told, key=lambda name: -len(told[name])):
            if name in kinds and told[name]:
                what = what.replace(told[name], where[name])
        return {**row, "where": where, "what": what}

    def user(self, name: str) -> str:
        """Return a user's name as the caller sees it."""
        return name if self.owns(name) else self.word("user", name)

    def _path(self, name: str) -> str:
        return self._paths.get(name, "\0")

    def _hidden(self, name: str, labels: Mapping[str, str]) -> str:
        kind = self._labels.get(name) or self._family(labels.get("__name__", "")).get(name, "cgroup")
        if name.startswith(OF_CONTAINERS):
            kind = "label"
        if name == "holder":
            kind = labels.get("kind") or kind
        return self.word(kind, labels[name])


class Privacy:
    """Says what a caller may see; without a key, everything."""

    def __init__(
        self,
        key: str = "",
        labels: Collection[str] = (),
        *,
        own: bool = True,
        hosts: bool = False,
        jobs_of: Callable[[str], Collection[str]] = lambda _: (),
        containers_of: Callable[[str], Collection[tuple[str, str]]] = lambda _: (),
        known_hosts: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Take a key, more labels to hide, what is hidden (other people, hosts), and lookups."""
        self.jobs_of, self.containers_of, self.hosts = jobs_of, containers_of, known_hosts
        self.own, self.hides_hosts = bool(key) and own, bool(key) and hosts
        self._key = key.encode()
        self._labels = {**LABELS, **dict.fromkeys(labels, "hidden")}

    def with_lookups(
        self,
        jobs_of: Callable[[str], Collection[str]],
        containers_of: Callable[[str], Collection[tuple[str, str]]],
        known_hosts: Callable[[], Collection[str]],
    ) -> Privacy:
        """Return the same with lookups of a user's jobs and containers, and of all hosts."""
        found = copy.copy(self)
        found.jobs_of, found.containers_of, found.hosts = jobs_of, containers_of, known_hosts
        return found

    @property
    def hides(self) -> bool:
        """Tell whether anything is hidden from anybody."""
        return self.own or self.hides_hosts

    def mask(self, identity: Identity) -> Pseudonyms | None:
        """Return what hides the others, or hosts, from somebody; nothing if he may see everything."""
        hosts = self.hides_hosts and identity.role == "viewer"
        if identity.role == "admin" or not (self.own or hosts):
            return None
        name = identity.name if identity.role == "user" else ""
        jobs = self.jobs_of(name) if name else ()
        containers = self.containers_of(name) if name else ()
        return Pseudonyms(
            self._key, name, jobs, self._labels, containers=containers, people=self.own, hosts=hosts
        )


def sees_through(mask: Pseudonyms | None) -> None:
    """Let the request that is being answered be answered behind this mask."""
    _mask.set(mask)


def current_pseudonyms() -> Pseudonyms | None:
    """Return the mask of the request that is being answered."""
    return _mask.get()


def _harmless(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in facts.items() if name in HARMLESS}


def _first(labels: Mapping[str, str], names: Collection[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
