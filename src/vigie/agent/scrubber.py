"""Removes from a recording what identifies a machine, a person or a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from vigie.workload.process import VARIABLES

HEADER = re.compile(r"^-- (.*) --$", re.MULTILINE)
MAC = re.compile(r"\b(?!(?:00:){5}00\b|(?:ff:){5}ff\b)(?:[0-9a-f]{2}:){5,19}[0-9a-f]{2}\b")
IPV4 = re.compile(r"\b(?!127\.|0\.|255\.)(?:\d{1,3}\.){3}\d{1,3}\b(?!\.)")
UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
WWN = re.compile(r"\b(?:0x[0-9a-f]{16}|(?:eui|naa|wwn|nvme)[.-][0-9A-Za-z._-]{8,})")
HOME = re.compile(r"(?<=/home/)[^/\s]+")
SECRET_FILES = re.compile(r"(?:serial|serial_number|uuid|asset_tag|wwid|subsysnqn|nguid|eui)$")
SOCKETS = re.compile(r"^proc/(?:.*/)?net/(?:tcp|udp)6?$")
PID_STAT = re.compile(r"^proc/\d+/stat$")
PID_FILE = re.compile(r"^proc/\d+/(environ|cmdline|status)$")
USERS_FILE = "root/etc/passwd"
CONTAINER_SPEC = re.compile(r"^root/run/containerd/.*/config\.json$")
GENV_ENVIRONMENTS = re.compile(r"/envs\.json$")
GENV_NAME = re.compile(r'("(?:username|name)"\s*:\s*)"[^"]*"')
NUMBER = re.compile(r"^[0-9]{1,10}$")
UDEV_SERIAL = re.compile(r"^(E:[A-Z_]*(?:SERIAL|UUID|WWN|LABEL)[A-Z_]*=).*$", re.MULTILINE)

# /proc/net/tcp: hexadecimal addresses before a port. States and queues after them stay.
HEX_ADDRESS = re.compile(r"\b(?:[0-9A-F]{8}|[0-9A-F]{32}):(?=[0-9A-F]{4}\b)")


def scrub(archive: str, hostname: str) -> tuple[str, list[str]]:
    """Return the scrubbed archive, and the kinds of data that were replaced."""
    replaced: list[str] = []
    text = _scrub_files(archive, replaced)
    rules: list[tuple[str, re.Pattern[str], Callable[[int], str]]] = [
        ("hardware addresses", MAC, lambda n: f"02:00:00:00:{n >> 8 & 255:02x}:{n & 255:02x}"),
        ("IP addresses", IPV4, lambda n: f"192.0.2.{n % 256}"),
        ("UUIDs", UUID, lambda n: f"00000000-0000-4000-8000-{n:012x}"),
        ("WWNs", WWN, lambda n: f"0x{n:016x}"),
        ("home directories", HOME, lambda n: f"user{n}"),
    ]
    if hostname:
        rules.append(
            ("the host name", re.compile(rf"(?<![\w-]){re.escape(hostname)}(?![\w-])"), lambda _: "host")
        )
    for kind, pattern, make in rules:
        text = _replace_matches(text, pattern, make, kind, replaced)
    return text, replaced


def _replace_matches(
    text: str, pattern: re.Pattern[str], make: Callable[[int], str], kind: str, replaced: list[str]
) -> str:
    """Replace each distinct match by a placeholder, the same for equal ones."""
    names: dict[str, str] = {}
    text = pattern.sub(lambda m: names.setdefault(m.group(), make(len(names) + 1)), text)
    if names:
        replaced.append(f"{len(names)} {kind}" if kind != "the host name" else kind)
    return text


def _scrub_files(archive: str, replaced: list[str]) -> str:
    pieces = HEADER.split(archive)
    kept = [pieces[0]]
    for path, body in zip(pieces[1::2], pieces[2::2], strict=True):
        clean = _scrub_file(path, body)
        if clean != body and "serial numbers and the like" not in replaced:
            replaced.append("serial numbers and the like")
        kept.append(f"-- {path} --{clean}")
    return "".join(kept)


def _scrub_file(path: str, body: str) -> str:
    if SECRET_FILES.search(path) and body.strip():
        return "\nscrubbed\n"
    if SOCKETS.match(path):
        return HEX_ADDRESS.sub(lambda m: "0" * (len(m.group()) - 1) + ":", body)
    if PID_STAT.match(path):
        return re.sub(r"\(.*\)", "(process)", body)
    return UDEV_SERIAL.sub(r"\1scrubbed", body)


def scrub_private(path: str, text: str) -> str:
    """Return a file without what people wrote: before it is recorded, as such text may hold anything."""
    found = PID_FILE.match(path)
    if found:
        return {"environ": _scrub_environ, "cmdline": _scrub_command, "status": _scrub_status}[found[1]](text)
    if path == USERS_FILE:
        return "".join(f"user{uid}:x:{uid}:{uid}:::\n" for uid in _user_ids(text))
    if GENV_ENVIRONMENTS.search(path):
        return GENV_NAME.sub(r'\1"scrubbed"', text)
    if CONTAINER_SPEC.match(path):
        return _scrub_specification(text)
    return text


def _scrub_environ(text: str) -> str:
    """Keep the few variables that name jobs and environments, and of their values only numbers."""
    pairs = (word.partition("=") for word in text.split("\0"))
    kept = (
        (name, value if NUMBER.match(value) else "scrubbed") for name, _, value in pairs if name in VARIABLES
    )
    return "".join(f"{name}={value}\0" for name, value in kept)


def _scrub_command(text: str) -> str:
    return "program\0" if text.strip("\0\n ") else ""


def _scrub_status(text: str) -> str:
    return re.sub(r"^Name:.*$", "Name:\tprocess", text, flags=re.MULTILINE)


def _user_ids(text: str) -> list[str]:
    rows = (line.split(":") for line in text.splitlines())
    return [row[2] for row in rows if len(row) > 3 and NUMBER.match(row[2])]


def _scrub_specification(text: str) -> str:
    """Keep where the container's cgroup is; its variables and arguments may hold secrets."""
    try:
        path = json.loads(text)["linux"]["cgroupsPath"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "{}\n"
    return json.dumps({"linux": {"cgroupsPath": path if isinstance(path, str) else ""}}) + "\n"
