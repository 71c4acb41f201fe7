"""Names and images of containers: from the sockets of Docker and Podman, and from containerd's own files.

A runtime is asked when a container is seen that is not known yet, and now and then for names that changed.
It gets one short question with a deadline; whatever goes wrong, containers keep their ids.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from vigie.sources.core.host import Host
from vigie.sources.core.tree import to_printable

DEADLINE = 2.0  # seconds for a whole answer
MAX_ANSWER = 16 << 20  # bytes
MAX_CONTAINERS = 4096
REFRESH = 300.0  # seconds
RETRY = 20.0  # seconds until an id that no runtime knew is asked for again
SHORT = 12  # digits of an id that people use
LIST = "/containers/json"
SOCKETS = (("docker", "run/docker.sock"), ("podman", "run/podman/podman.sock"))
ROOTLESS = "run/user"
CONTAINERD = "run/containerd/io.containerd.runtime.v2.task"
OF_DOCKER = "moby"  # containerd's namespace of Docker's containers, which Docker knows better
# What Kubernetes has its runtimes write beside each container.
POD_NAME, POD_NAMESPACE = "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.sandbox-namespace"
CONTAINER_NAME, IMAGE_NAME = "io.kubernetes.cri.container-name", "io.kubernetes.cri.image-name"
POD_UID = "io.kubernetes.cri.sandbox-uid"


class RuntimeNotAnsweringError(Exception):
    """A runtime did not answer; the message says why."""


class Container(NamedTuple):
    """What a runtime knows of a container."""

    id: str
    runtime: str
    name: str = ""
    image: str = ""
    labels: dict[str, str] = {}  # noqa: RUF012 - never changed
    cgroup: str = ""  # where it cannot be told from the path
    pod: str = ""  # Kubernetes's namespace and name of it
    size_bytes: float | None = None

    @property
    def label(self) -> str:
        """Return the name, or the short form of the id."""
        return self.name or (self.id[:SHORT] if len(self.id) == 64 else self.id)


class Runtimes:
    """The containers that the machine's runtimes know; asked when somebody needs one that is not known."""

    def __init__(self, host: Host, sockets: str = "") -> None:
        self._host = host
        self._sockets = [("docker", path.strip("/")) for path in sockets.split()]
        self._known: dict[str, Container] = {}
        self._unknown: dict[str, float] = {}
        self._asked = float("-inf")
        self._tasks: tuple[tuple[str, ...], ...] = ()  # of containerd

    def find(self, ids: Collection[str]) -> dict[str, Container]:
        """Return what is known of these containers, by id."""
        now = time.monotonic()
        if self._names_changed():
            self._asked = float("-inf")
        strange = [one for one in ids if one not in self._known and self._unknown.get(one, 0.0) <= now]
        if strange or ((ids or self._tasks) and now - self._asked > REFRESH):
            self.refresh()
            self._unknown = {one: now + RETRY for one in ids if one not in self._known}
        return {one: self._known[one] for one in ids if one in self._known}

    def named(self) -> Iterator[Container]:
        """Yield the containers whose cgroup only their runtime can tell."""
        yield from (one for one in self._known.values() if one.cgroup and len(one.id) != 64)

    def _names_changed(self) -> bool:
        """Tell whether containerd has other containers than before; their names can be anything."""
        root = self._host.root
        spaces = [space for space in root.list_names(CONTAINERD)[:64] if space != OF_DOCKER]
        tasks = tuple((space, *root.list_names(f"{CONTAINERD}/{space}")) for space in spaces)
        changed, self._tasks = tasks != self._tasks, tasks
        return changed

    def refresh(self) -> dict[str, Container]:
        """Ask every runtime that is there, and return all that they know."""
        self._asked = time.monotonic()
        found: dict[str, Container] = {}
        for runtime, path in self.sockets():
            try:
                listed = ask(self._host, path, LIST)
            except RuntimeNotAnsweringError as error:
                self._host.note(f"/{path}", error)
                continue
            found.update((one.id, one) for one in parse_list(runtime, listed))
        found.update((one.id, one) for one in _of_containerd(self._host))
        self._known = dict(list(found.items())[:MAX_CONTAINERS])
        return self._known

    def sockets(self) -> Iterator[tuple[str, str]]:
        """Yield the runtimes that speak Docker's language, and where."""
        if self._sockets:
            yield from self._sockets
            return
        yield from ((runtime, path) for runtime, path in SOCKETS if self._host.root.exists(path))
        for user in self._host.root.list_names(ROOTLESS)[:64]:
            path = f"{ROOTLESS}/{user}/podman/podman.sock"
            if self._host.root.exists(path):
                yield "podman", path


def ask(host: Host, path: str, target: str, deadline: float = DEADLINE) -> Any:
    """Return the JSON that a runtime answers to a GET over its socket, or raise with the reason."""
    end = time.monotonic() + deadline
    top = host.root.top.rstrip("/")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(deadline)
            connection.connect(f"{top}/{path}")
            # HTTP/1.0, so that the answer comes in one piece and ends with the connection.
            connection.sendall(f"GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
            answer = _receive(connection, end)
    except OSError as error:
        raise RuntimeNotAnsweringError(error.strerror or str(error)) from None
    head, _, body = answer.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if status != [b"200"]:
        first = head.splitlines()[0][:60] if head else b""
        raise RuntimeNotAnsweringError(f"it answered {to_printable(first.decode('latin-1'))!r}")
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise RuntimeNotAnsweringError("its answer is not JSON") from None


def _receive(connection: socket.socket, end: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        left = end - time.monotonic()
        if left <= 0:
            raise RuntimeNotAnsweringError("no whole answer in time")
        connection.settimeout(left)
        part = connection.recv(1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > MAX_ANSWER:
            raise RuntimeNotAnsweringError(f"its answer is longer than {MAX_ANSWER >> 20} MiB")


def parse_list(runtime: str, listed: Any) -> Iterator[Container]:
    """Yield the containers in the list of Docker, or of Podman speaking as Docker; garbage costs a row."""
    for row in listed if isinstance(listed, list) else ():
        if not isinstance(row, dict) or not isinstance(row.get("Id"), str):
            continue
        names = row.get("Names")
        name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
        labels = row.get("Labels")
        # Where sizes were asked for, nothing written is left out.
        size = row.get("SizeRw", 0 if "SizeRootFs" in row else None)
        yield Container(
            row["Id"],
            runtime,
            to_printable(name.lstrip("/")[:253]),
            to_printable(str(row.get("Image") or "")[:253]),
            _texts(labels),
            size_bytes=float(size) if isinstance(size, int) else None,
        )


def _texts(labels: Any) -> dict[str, str]:
    if not isinstance(labels, dict):
        return {}
    pairs = ((key, value) for key, value in labels.items() if isinstance(value, str))
    return {to_printable(key[:128]): to_printable(value[:253]) for key, value in pairs}


def _of_containerd(host: Host) -> Iterator[Container]:
    """Yield the running containers of containerd: each has its specification in a directory of its own."""
    for namespace in host.root.list_names(CONTAINERD)[:64]:
        if namespace == OF_DOCKER:
            continue
        for name in host.root.list_names(f"{CONTAINERD}/{namespace}")[:MAX_CONTAINERS]:
            try:
                text = host.root.read_head(f"{CONTAINERD}/{namespace}/{name}/config.json", 1 << 20)
                specification = json.loads(text)
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(specification, dict):
                yield parse_specification(to_printable(name), specification)


def parse_specification(name: str, specification: dict[str, Any]) -> Container:
    """Return a container as its OCI specification tells of it."""
    notes = _texts(specification.get("annotations"))
    linux = specification.get("linux")
    path = linux.get("cgroupsPath") if isinstance(linux, dict) else None
    cgroup = path if isinstance(path, str) and path.startswith("/") else ""  # else systemd made it, by id
    pod = "/".join(filter(None, (notes.get(POD_NAMESPACE), notes.get(POD_NAME))))
    plain = notes.get(CONTAINER_NAME, "")
    return Container(
        name,
        "containerd",
        f"{pod}/{plain}" if pod and plain else plain or ("" if len(name) == 64 else name),
        notes.get(IMAGE_NAME, ""),
        cgroup=cgroup,
        pod=pod,
    )
