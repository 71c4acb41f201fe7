"""Commands that name and end jobs by hand: for the agent's owner, and for users of their own jobs."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import parse_qs

from vigie.agent.http.server import Request, Response
from vigie.agent.http.unix_socket import UnixPeer
from vigie.agent.manual_jobs import ManualJobs, TooManyJobsError

SET, CLEAR = "/jobs/set", "/jobs/clear"
COMMANDS = (SET, CLEAR)
JOB = re.compile(r"^[\w.\[\]@+:-]{1,64}$", re.ASCII)
USER = re.compile(r"^[\w.@+-]{1,64}\$?$")
GPU = re.compile(r"^[0-9]{1,4}$")
MAX_GPUS = 64
NAME_SECONDS = 5.0


class JobCommands:
    """Handles them."""

    def __init__(self, jobs: ManualJobs) -> None:
        self._jobs = jobs

    async def answer(self, request: Request, peer: UnixPeer) -> Response:
        """Handle a command of a user identified by the kernel."""
        given = {name: words[0] for name, words in parse_qs(request.query).items()}
        try:
            # Names may come from a network directory.
            caller = await asyncio.wait_for(asyncio.to_thread(lambda: peer.name), NAME_SECONDS)
        except TimeoutError:
            return Response(503, f"cannot look up the name of uid {peer.uid} now\n".encode())
        job = given.get("id", "")
        if not JOB.match(job):
            return _fail(
                400, f"invalid job id {job!r}: use up to 64 letters, digits or any of . _ - + @ : [ ]"
            )
        if request.path == CLEAR:
            return await asyncio.to_thread(self._clear, job, peer, caller)
        return await asyncio.to_thread(self._set, job, given, peer, caller)

    def _set(self, job: str, given: dict[str, str], peer: UnixPeer, caller: str) -> Response:
        user = given.get("user") or ("" if peer.is_owner else caller)
        gpus = [word for word in given.get("gpus", "").split(",") if word]
        if user and not USER.match(user):
            return _fail(400, f"invalid user {user!r}")
        if len(gpus) > MAX_GPUS or not all(map(GPU.match, gpus)):
            return _fail(400, "invalid GPUs: use their indices, such as 0,1")
        known = self._jobs.find(job)
        if not peer.is_owner and (not caller or user != caller or (known and known.user != caller)):
            return _fail(403, f"only root may set a job of another user, you are {caller or peer.uid}")
        try:
            unsaved = self._jobs.set(job, user, gpus, limited=not peer.is_owner)
        except TooManyJobsError as error:
            return _fail(409, str(error))
        where = f"GPU {','.join(gpus)}" if gpus else "the node"
        return _succeed(f"job {job} has {where}" + (f", user {user}" if user else ""), unsaved)

    def _clear(self, job: str, peer: UnixPeer, caller: str) -> Response:
        known = self._jobs.find(job)
        if known is None:
            return _fail(404, f"job {job} is not set on this node")
        if not peer.is_owner and (not caller or known.user != caller):
            return _fail(403, f"only root may clear a job of another user, you are {caller or peer.uid}")
        return _succeed(f"job {job} cleared", self._jobs.clear(job))


def _fail(status: int, why: str) -> Response:
    return Response(status, f"{why}\n".encode())


def _succeed(what: str, unsaved: str) -> Response:
    warning = f"; lost when the agent restarts: {unsaved}" if unsaved else ""
    return Response(200, f"{what}{warning}\n".encode())
