"""Compiles simulated libraries from C, once per version."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
TIMEOUT_SECONDS = 120.0


class SimulatedLibrary(NamedTuple):
    """Sources of a library, and its exported names."""

    name: str
    sources: tuple[Path, ...]
    shown: str

    def files(self, *suffixes: str) -> list[Path]:
        """Return the sources with these suffixes."""
        return sorted(path for path in self.sources if path.suffix in suffixes)


NVML = SimulatedLibrary("libnvidia-ml", tuple(HERE.iterdir()), "nvml*")
DCGM = SimulatedLibrary(
    "libdcgm",
    (*(HERE.parent / "dcgm").iterdir(), HERE / "scenario.c", HERE / "scenario.h"),
    "dcgm*",
)


class NoCompilerError(Exception):
    """No C compiler; the message says what to install."""


def build(directory: Path, library: SimulatedLibrary = NVML, *, without: Sequence[str] = ()) -> Path:
    """Build the library below a directory, without the calls that an old driver lacks."""
    made = directory / f"{library.name}-{_hash_sources(library, *without)}.so"
    if made.exists():
        return made
    directory.mkdir(parents=True, exist_ok=True)
    objects = _compile_objects(directory, library)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        symbols, linked = Path(scratch) / "symbols", Path(scratch) / "library"
        hidden = "".join(f" {name};" for name in (*without, "*"))
        symbols.write_text(f"{{ global: {library.shown}; simulated_size_of; local:{hidden} }};\n")
        files = map(str, sorted(objects.glob("*.o")))
        script = f"-Wl,--version-script={symbols}"
        _compile(directory, "-shared", script, "-o", str(linked), *files, "-lpthread", "-ldl")
        os.replace(linked, made)
    return made


def _compile_objects(directory: Path, library: SimulatedLibrary) -> Path:
    """Return the directory of the object files, from which drivers of any version are linked."""
    objects = directory / f"objects-{_hash_sources(library)}"
    if not objects.exists():
        scratch = Path(tempfile.mkdtemp(dir=directory))
        _compile(scratch, "-c", "-fPIC", "-O1", *map(str, library.files(".c")))
        try:
            os.rename(scratch, objects)
        except OSError:  # another process was faster
            shutil.rmtree(scratch)
    return objects


def _compile(directory: Path, *arguments: str) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NoCompilerError("no C compiler: apt-get install gcc libc6-dev")
    subprocess.run([compiler, *arguments], check=True, timeout=TIMEOUT_SECONDS, cwd=directory)  # noqa: S603


def _hash_sources(library: SimulatedLibrary, *without: str) -> str:
    content = hashlib.sha256(",".join(sorted(without)).encode())
    for path in library.files(".c", ".h"):
        content.update(path.read_bytes())
    return content.hexdigest()[:16]
