"""/api/traces and /api/stacks: look inside running jobs, and what came of it."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute

from vigie.query.errors import BadDataError
from vigie.server.http.bodies import BodyTooLargeError, read_body
from vigie.server.http.requests import IDENTITY, Parameters
from vigie.server.http.responses import error_response, respond
from vigie.server.http.routes import (
    BAD_PARAMETER,
    DURATION,
    VIEW,
    ApiRoute,
    Content,
    Operation,
    Parameter,
    RouteAccess,
)
from vigie.server.perfetto import find_perfetto
from vigie.server.tracing.coordinator import TraceCaller, TraceCoordinator
from vigie.server.tracing.preflight import TraceRefusedError
from vigie.server.tracing.stack_survey import StackSurvey
from vigie.wire.api.trace_session import TraceSelection, TraceSession
from vigie.wire.api.traces import (
    MAX_BODY_BYTES,
    RemovedTrace,
    StackAnswer,
    StackRequestBody,
    TraceDetail,
    TraceList,
    TraceRequestBody,
    TrainerRow,
    TrainerRows,
)

GZIP = "application/gzip"
MAX_WAIT_MS = 600_000
USER = RouteAccess("user", changes=True)
OWN = RouteAccess("user")
TRACE = Parameter("id", "The trace.")
NO_TRACE = {404: "There is no such trace, or it is not yours."}
REFUSED = {409: "It would not work; the message says why and what to do."}
BAD_BODY = {400: "The body is malformed; the message says where.", 413: "The body is too large."}
START = Operation(
    "Trace some ranks at once.",
    TraceDetail,
    (Parameter("wait", "Wait so long for it to be over, such as 2m; at most 10m.", DURATION),),
    body=TraceRequestBody,
    errors={**BAD_BODY, **REFUSED},
)
LIST = Operation("List traces, the newest first.", TraceList)
SHOW = Operation("Return a trace, how far it is, and what it says.", TraceDetail, (TRACE,), errors=NO_TRACE)
CANCEL = Operation("Cancel a trace that is under way.", TraceDetail, (TRACE,), errors=NO_TRACE)
REMOVE = Operation("Remove a trace with its files.", RemovedTrace, (TRACE,), errors={**NO_TRACE, **REFUSED})
DOWNLOAD = Operation(
    "Download the file of one rank, as the profiler wrote it, compressed.",
    Content("The file.", {GZIP: bytes}),
    (TRACE, Parameter("rank", "The rank's label, such as rank3.")),
    errors=NO_TRACE,
)
TRAINERS = Operation(
    "List the processes that can be traced now.",
    TrainerRows,
    (Parameter("job", "Only of this job."), Parameter("node", "Only on this node.")),
    errors=BAD_PARAMETER,
)
STACKS = Operation(
    "Take the stacks of a job's processes, grouped, without stopping them.",
    StackAnswer,
    body=StackRequestBody,
    errors={**BAD_BODY, **REFUSED},
)

Body = TypeVar("Body", TraceRequestBody, StackRequestBody)


class TraceRoutes:
    def __init__(
        self, coordinator: TraceCoordinator, survey: StackSurvey, *, is_public: bool = False
    ) -> None:
        self._coordinator, self._survey = coordinator, survey
        self._is_public = is_public  # viewers see all traces: nothing in them is real

    def routes(self) -> list[BaseRoute]:
        see = VIEW if self._is_public else OWN
        return [
            ApiRoute("/api/traces", self._list, LIST, access=see),
            ApiRoute("/api/traces", self._start, START, methods=["POST"], access=USER),
            ApiRoute("/api/traces/{id}", self._show, SHOW, access=see),
            ApiRoute("/api/traces/{id}", self._remove, REMOVE, methods=["DELETE"], access=USER),
            ApiRoute("/api/traces/{id}/cancel", self._cancel, CANCEL, methods=["POST"], access=USER),
            ApiRoute("/api/traces/{id}/{rank}.json.gz", self._download, DOWNLOAD, access=see),
            ApiRoute("/api/trainers", self._list_trainers, TRAINERS, access=OWN),
            ApiRoute("/api/stacks", self._take_stacks, STACKS, methods=["POST"], access=USER),
        ]

    async def _list(self, request: Request) -> Response:
        caller = find_caller(request)
        sessions = [s for s in self._coordinator.library.sessions() if self._may_see(caller, s)]
        return respond(msgspec.json.encode(TraceList(sessions)), request)

    async def _start(self, request: Request) -> Response:
        wait_ms = Parameters(request.scope["query_string"]).duration_or_none("wait") or 0
        if not 0 <= wait_ms <= MAX_WAIT_MS:
            raise BadDataError('invalid parameter "wait": use at most 10m')
        try:
            body = await _decode_body(request, TraceRequestBody)
            session = await self._coordinator.start(
                body.selection,
                find_caller(request),
                switches=body.switches,
                duration_ms=body.duration_ms,
                iterations=body.iterations,
                iteration_roundup=body.iteration_roundup,
            )
        except TraceRefusedError as error:
            return error_response(409, "conflict", str(error))
        except BodyTooLargeError as error:
            return error_response(413, "bad_data", str(error))
        await self._coordinator.wait(session.id, wait_ms / 1000)
        return await self._respond_detail(session, request)

    async def _show(self, request: Request) -> Response:
        session = self._find(request)
        return _not_found(request) if session is None else await self._respond_detail(session, request)

    async def _cancel(self, request: Request) -> Response:
        session = self._find(request)
        if session is None:
            return _not_found(request)
        await self._coordinator.cancel(session)
        return await self._respond_detail(session, request)

    async def _remove(self, request: Request) -> Response:
        session = self._find(request)
        if session is None:
            return _not_found(request)
        if session.state == "open":
            return error_response(409, "conflict", "It is under way. Cancel it first.")
        await asyncio.to_thread(self._coordinator.library.remove, session.id)
        return respond(msgspec.json.encode(RemovedTrace(session.id)), request)

    async def _download(self, request: Request) -> Response:
        session = self._find(request)
        label = request.path_params["rank"]
        if session is None or label not in {rank.label for rank in session.ranks}:
            return _not_found(request)
        path = self._coordinator.library.trace_path(session.id, label)
        if not await asyncio.to_thread(path.is_file):
            return _not_found(request)
        return FileResponse(path, media_type=GZIP, filename=f"{session.id}-{label}.json.gz")

    async def _list_trainers(self, request: Request) -> Response:
        caller = find_caller(request)
        job, node = request.query_params.get("job", ""), request.query_params.get("node", "")
        listed = await self._coordinator.list_trainers(TraceSelection(job=job, nodes=[node] if node else []))
        rows = [
            TrainerRow(
                node=name,
                pid=trainer.pid,
                rank=trainer.rank,
                user=trainer.user,
                job=trainer.job or (str(trainer.job_id) if trainer.job_id else ""),
                is_busy=trainer.is_busy,
            )
            for name, found in listed.items()
            for trainer in found.trainers
            if (caller.is_admin or trainer.user == caller.name)
            and (not job or job in (trainer.job, str(trainer.job_id)))
        ]
        problems = [f"{name}: {found.problem}" for name, found in listed.items() if found.problem]
        return respond(msgspec.json.encode(TrainerRows(rows, problems)), request)

    async def _take_stacks(self, request: Request) -> Response:
        try:
            body = await _decode_body(request, StackRequestBody)
            answer = await self._survey.take(body, find_caller(request))
        except TraceRefusedError as error:
            return error_response(409, "conflict", str(error))
        except BodyTooLargeError as error:
            return error_response(413, "bad_data", str(error))
        return respond(msgspec.json.encode(answer), request)

    def _find(self, request: Request) -> TraceSession | None:
        session = self._coordinator.library.find(request.path_params["id"])
        return session if session is not None and self._may_see(find_caller(request), session) else None

    def _may_see(self, caller: TraceCaller, session: TraceSession) -> bool:
        return self._is_public or caller.is_admin or _is_theirs(caller.name, session)

    async def _respond_detail(self, session: TraceSession, request: Request) -> Response:
        library = self._coordinator.library
        summaries = await asyncio.to_thread(library.read_summaries, session)
        comparison = await asyncio.to_thread(library.read_comparison, session.id)
        detail = TraceDetail(session, comparison, summaries, find_perfetto() is not None)
        return respond(msgspec.json.encode(detail), request)


def find_caller(request: Request) -> TraceCaller:
    identity = request.scope.get(IDENTITY)
    if identity is None:
        return TraceCaller("", False)
    return TraceCaller(identity.name, identity.role == "admin")


def _is_theirs(name: str, session: TraceSession) -> bool:
    return bool(name) and (name == session.owner or session.users == {name})


async def _decode_body(request: Request, kind: type[Body]) -> Body:
    body = await read_body(request, MAX_BODY_BYTES)
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadDataError(f"invalid body: {error}") from None


def _not_found(request: Request) -> Response:
    return error_response(404, "not_found", f"there is no trace {request.path_params['id']!r}")
