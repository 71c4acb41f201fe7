"""/api/v1/write: remote write 1.0 in; what is answered with 204 is synced.

Version 2.0 is answered with 415, so that a sender falls back to 1.0. Exemplars are dropped.
Of a request with native histograms, nameless series or times out of bounds the rest is stored, and the
answer is 400, which a sender does not retry. A full disk gives 503, which it does.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from vigie.server.http.bodies import BodyTooLargeError, read_body
from vigie.server.ingest.batch_worker import BatchWorker
from vigie.server.ingest.metadata import MAX_HELP, MAX_WORD, MetadataCache, MetricMetadata
from vigie.server.metrics import ServerMetrics
from vigie.store.errors import CorruptionError, InvalidInputError, StoreError
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store
from vigie.wire.remote_write.labels import LabelCache
from vigie.wire.remote_write.protobuf import MalformedProtobufError
from vigie.wire.remote_write.write_request import DecodedWriteRequest, decode, decompress, decompressed_length

MAX_DECOMPRESSED = 32 << 20
LARGE_BYTES = 1 << 20  # decompressed: such requests are decoded apart, one at a time
PART_SERIES = 5000  # of a large request: between two parts others have their turn
MAX_PROBLEMS = 10  # that an answer names
AHEAD_MS = 10 * 60_000  # how far in the future a sample may lie, as in Prometheus
WAITING = 256  # requests
A_SYNC = 64  # requests that share a sync at most
MAX_BODY = 32 << 20
RETRY = {"Retry-After": "10"}
Write = Callable[[bytes], Awaitable[None]]


class WriterBusyError(Exception):
    """Too many requests are waiting."""


class SamplesRejectedError(Exception):
    """Something of the request cannot be stored, and never will be; the rest is."""


class CannotWriteError(Exception):
    """The store takes nothing now; the sender should try again."""


class _Job(NamedTuple):
    request: bytes | DecodedWriteRequest
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]


class RemoteWriter:
    """Stores requests; one is done when what it brought is synced."""

    def __init__(
        self,
        store: Store,
        own: ServerMetrics,
        clock: Callable[[], int],
        age_ms: int,
        pass_on: Callable[[Sequence[Samples]], None] = lambda _: None,
    ) -> None:
        self._store, self._own, self._clock, self._age = store, own, clock, age_ms
        self._pass_on = pass_on
        self._cache, self._large_cache = LabelCache(), LabelCache()
        self._decoder = ThreadPoolExecutor(1, "decoder")
        self._large = asyncio.Semaphore(1)
        self.described = MetadataCache()  # what senders tell of their metrics
        self._jobs = BatchWorker("writer", self._take, A_SYNC, WAITING)

    @property
    def waiting(self) -> int:
        """Tell how many requests wait to be stored."""
        return self._jobs.waiting

    def close(self) -> None:
        """Store what waits, and end."""
        self._decoder.shutdown(wait=False, cancel_futures=True)
        self._jobs.close()

    async def write(self, body: bytes) -> None:
        """Return when the request is synced; raise Rejected, Cannot, Busy or Malformed."""
        self._own.writes += 1
        self._own.write_bytes += len(body)
        try:
            if decompressed_length(body) > LARGE_BYTES:
                async with self._large:
                    await self._write_large(body)
            else:
                await self._submit(body)
        except Exception:
            self._own.refused += 1
            raise

    async def _write_large(self, body: bytes) -> None:
        """Decode a request beside the writer, and store it in parts, so that others go on."""
        loop = asyncio.get_running_loop()
        problems: list[str] = []
        for part in await loop.run_in_executor(self._decoder, self._decode_large, body):
            try:
                await self._submit(part)
            except SamplesRejectedError as error:
                problems.append(str(error))
        if problems:
            raise SamplesRejectedError("; ".join(problems[:MAX_PROBLEMS]))

    def _decode_large(self, body: bytes) -> list[DecodedWriteRequest]:
        request = decode(decompress(body, MAX_DECOMPRESSED), self._large_cache)
        first = request._replace(series=request.series[:PART_SERIES])
        starts = range(PART_SERIES, len(request.series), PART_SERIES)
        rest = [request.series[start : start + PART_SERIES] for start in starts]
        return [first, *(DecodedWriteRequest(series, 0, 0, [], {}) for series in rest)]

    async def _submit(self, request: bytes | DecodedWriteRequest) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        try:
            self._jobs.put(_Job(request, loop, done))
        except queue.Full:
            raise WriterBusyError(f"{WAITING} requests are waiting to be stored") from None
        await done

    def _take(self, jobs: list[_Job]) -> None:
        outcomes = [(job, *self._append(job.request)) for job in jobs]
        failure = self._sync()
        for job, taken, outcome in outcomes:
            if taken and failure is None:
                self._pass_on(taken)
            result = outcome if isinstance(outcome, MalformedProtobufError) else failure or outcome
            job.loop.call_soon_threadsafe(_settle, job.done, result)

    def _append(self, request: bytes | DecodedWriteRequest) -> tuple[Sequence[Samples], Exception | None]:
        """Return what the store took, and what is wrong with the request."""
        try:
            if isinstance(request, bytes):
                request = decode(decompress(request, MAX_DECOMPRESSED), self._cache)
            self.described.take(_families(request))
            timely, problems = self._judged(request)
            self._store.append_series(timely)
        except MalformedProtobufError as error:
            return (), error
        except (
            InvalidInputError,
            CorruptionError,
        ) as error:  # sent again it would meet the same damage, for ever
            return (), SamplesRejectedError(str(error))
        except StoreError as error:
            return (), CannotWriteError(str(error))
        except Exception as error:  # noqa: BLE001 - a fault with one request must not end the writing of all
            return (), error
        self._own.samples += sum(len(samples.times) for samples in timely)
        return timely, SamplesRejectedError("; ".join(problems)) if problems else None

    def _judged(self, request: DecodedWriteRequest) -> tuple[list[Samples], list[str]]:
        """Return what can be stored, and what is wrong with the rest."""
        now = self._clock()
        oldest, newest = now - self._age, now + AHEAD_MS
        timely: list[Samples] = []
        refused = list(request.refused.items())[:MAX_PROBLEMS]
        problems = [f"{count} samples: {why}" for why, count in refused]
        untimely: list[Samples] = []
        judged: Sequence[int] = ()
        fits = True
        for labels, times, values in request.series:
            if times is not judged:  # the samples of a scrape share one
                judged, fits = times, oldest <= min(times) and max(times) <= newest
            (timely if fits else untimely).append(Samples(labels, times, values))
        for samples in untimely:
            good = [i for i, time in enumerate(samples.times) if oldest <= time <= newest]
            if good:
                times, values = [samples.times[i] for i in good], [samples.values[i] for i in good]
                timely.append(Samples(samples.labels, times, values))
        if untimely:
            problems.append(_why_untimely(untimely, oldest, newest))
        if request.histograms:
            problems.append(f"{request.histograms} native histograms: they are not stored")
        return timely, problems

    def _sync(self) -> Exception | None:
        try:
            self._store.sync()
        except StoreError as error:
            return CannotWriteError(str(error))
        self._own.syncs += 1
        return None


def _families(request: DecodedWriteRequest) -> dict[str, MetricMetadata]:
    return {
        name: MetricMetadata(kind, text[:MAX_HELP], unit[:MAX_WORD])
        for name, kind, text, unit in request.metadata
        if name
    }


def _why_untimely(untimely: list[Samples], oldest: int, newest: int) -> str:
    bad = [
        (time, samples.labels)
        for samples in untimely
        for time in samples.times
        if not oldest <= time <= newest
    ]
    time, labels = bad[0]
    return (
        f"{len(bad)} samples: out of bounds, older than what is kept or more than 10 minutes ahead; "
        f"the first is of {dict(labels)} at {time}"
    )


def _settle(done: asyncio.Future[None], error: Exception | None) -> None:
    if done.done():
        return  # the sender left meanwhile
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)


class WriteRoute:
    def __init__(self, write: Write) -> None:
        self._write = write

    async def answer(self, request: Request) -> Response:
        """Take a request, and say when it is stored."""
        unknown = _unknown(request)
        if unknown:
            return PlainTextResponse(unknown + "\n", 415)
        try:
            await self._write(await read_body(request, MAX_BODY))
        except BodyTooLargeError as error:
            return PlainTextResponse(f"{error}\n", 413)
        except (MalformedProtobufError, SamplesRejectedError) as error:
            return PlainTextResponse(f"{error}\n", 400)
        except WriterBusyError as error:
            return PlainTextResponse(f"{error}\n", 429, RETRY)
        except CannotWriteError as error:
            return PlainTextResponse(f"{error}\n", 503, RETRY)
        return Response(status_code=204)


def _unknown(request: Request) -> str:
    """Return what about the request is not remote write 1.0, or nothing."""
    kind, *rest = (part.strip() for part in request.headers.get("content-type", "").split(";"))
    if kind not in ("", "application/x-protobuf"):  # Prometheus, too, takes none for the usual one
        return f"{kind} is not application/x-protobuf"
    for parameter in rest:
        name, _, value = parameter.partition("=")
        if name == "proto" and value.strip('"') != "prometheus.WriteRequest":
            return f"{value} is not spoken here; send prometheus.WriteRequest, which is remote write 1.0"
    encoding = request.headers.get("content-encoding", "snappy").lower()
    return "" if encoding == "snappy" else f"{encoding} is not snappy"
