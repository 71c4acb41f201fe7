"""`privacy = own`: no route tells a viewer or a user anything of others, and all of it of himself."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.known import known_secrets
from tests.server.route_table import TABLE
from tests.server.serving import TOKEN, Said, listening
from vigie.cli._auth_options import privacy
from vigie.common.config import ConfigError
from vigie.model import Binding, Event
from vigie.query.limits import QueryLimits
from vigie.server.cluster.bindings import BindingStore
from vigie.server.cluster.database import FILE, ClusterDatabase
from vigie.server.cluster.events import EventStore
from vigie.server.http.request_log import Traffic
from vigie.server.identity import Identity
from vigie.server.maintenance import RetentionConfig
from vigie.server.privacy.redactor import LABELS, Privacy, Pseudonyms
from vigie.server.services import ServerConfig, build_services
from vigie.store.filesystem import STORE_DIRECTORY
from vigie.store.heads.ungrouped import Samples
from vigie.store.store import Store

MORE = ("id", "resource", "team", "gpu", "name", "image", "container_label_owner")
NOW = time.time_ns() // 1_000_000
BOB = ("bob.m", "4711.batch", "secret-model", "train_secret.py", "bobs-account")
ADA = ("ada.l", "1234.batch", "my-model", "train_mine.py", "adas-account")
ALL = '{__name__=~".+"}'
# What has to be asked besides the path, for a route to tell all that it has.
ASKED: dict[str, list[dict[str, str]]] = {
    "/api/v1/query": [
        {"query": ALL},
        {"query": "gpu_busy * on (job_id) group_left (user) job_info"},
        {"query": "count by (user) (job_info)"},
        {"query": 'label_replace(job_info, "x", "$1", "user", "(.*)")'},
        {"query": "bottomk(1, job_info)"},
    ],
    "/api/v1/query_range": [
        {"query": ALL, "start": str(NOW / 1000 - 600), "end": str(NOW / 1000), "step": "60"}
    ],
    "/api/v1/series": [{"match[]": ALL}],
    "/api/v1/label/{name:text}/values": [{}],
    "/federate": [{"match[]": ALL}],
    "/api/v1/status/tsdb": [{"limit": "1000"}],
}


def held(user: str, job: str, name: str, command: str, account: str, gpu: int, end: int | None) -> Binding:
    facts = {"name": name, "command": command, "account": account, "reason": "Priority"}
    return Binding(f"gpu:{gpu}", "job", job, NOW - 3_600_000, end, user, "slurm", facts)


def told(words: tuple[str, ...], gpu: str) -> list[Samples]:
    user, job, name, command, account = words
    rows: list[dict[str, str]] = [
        {"__name__": "job_info", "user": user, "job_id": job, "job_name": name, "account": account},
        {"__name__": "gpu_busy", "job_id": job, "gpu": gpu},
        {"__name__": "process_cpu", "username": user, "cmdline": command, "instance": "n1"},
        {"__name__": "container_cpu", "id": f"/slurm/{user}/job_{job}", "exported_job": job},
        {"__name__": "vigie_holder_info", "kind": "user", "holder": user, "resource": f"cgroup:/x/{user}"},
        {"__name__": "vigie_holder_info", "kind": "job", "holder": job, "user": user, "gpu": gpu},
        {"__name__": "pushed", "team": user},
        {
            "__name__": "container_memory_usage_bytes",
            "id": f"/docker/{job}",
            "name": name,
            "image": f"registry/{account}",
            "container_label_owner": user,
            "instance": "n1",
        },
        {"__name__": "vigie_process_threads", "pid": gpu, "name": command, "user": user},
        {"__name__": "vigie_process_info", "pid": gpu, "user": user, "command": command, "container": name},
    ]
    # Long beyond now: on a busy machine these tests may come minutes after this file was read.
    times = [NOW - 60_000, NOW - 30_000, *range(NOW, NOW + 7_200_000, 240_000)]
    return [Samples(labels, times, [1.0] * len(times)) for labels in rows]


def fill(data: Path) -> None:
    with Store(data / STORE_DIRECTORY) as store:
        store.append_series([*told(BOB, "0"), *told(ADA, "1")])
        store.sync()
    database = ClusterDatabase(data / FILE)
    book, events = BindingStore(database), EventStore(database)
    for gpu, words in enumerate((BOB, ADA)):
        book.add("n1", held(*words, gpu, None))
        book.add("n1", held(*words, gpu + 2, NOW - 1000))
        image = {"image": f"registry/{words[4]}"}
        book.add(
            "n1",
            Binding(
                f"cgroup:/docker/{words[1]}", "container", words[2], NOW - 1000, None, words[0], facts=image
            ),
        )
        where = {"node": "n1", "user": words[0], "job": words[1], "command": words[3]}
        events.add(Event("oom", NOW, f"{words[3]} of {words[0]} (job {words[1]}) was killed", where))
    database.close()


def paths() -> list[str]:
    found = []
    for row in TABLE:
        method, _, path = row.rpartition(" ")
        if method in ("", "GET") and path not in ("/link",):
            for name in (*LABELS, *MORE) if "{name:text}" in path else ("n1",):
                filled = path.replace("{name:text}", name).replace("{name}", name)
                found += [f"{filled}?{urlencode(query)}" for query in ASKED.get(path, [{}])]
    return found


class Told:
    """What everybody was answered."""

    def __init__(self, answers: Mapping[str, Mapping[str, Said]]) -> None:
        self._answers = answers

    def of(self, who: str) -> Mapping[str, Said]:
        return self._answers[who]

    def json(self, who: str, path: str, **query: str) -> Any:
        return self._answers[who][f"{path}?{urlencode(query)}"].json


class _All(dict[str, Said]):
    """Answers of one caller; what was not asked yet is asked."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        super().__init__()
        self._port, self._headers = port, headers

    def __missing__(self, path: str) -> Said:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)) as client:
            client.request("GET", path, headers=self._headers)
            answer = client.getresponse()
            self[path] = Said(answer.status, dict(answer.getheaders()), answer.read())
        return self[path]


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = Path(tmp_path_factory.mktemp("data"))
    fill(data)
    with known_secrets(TOKEN) as secrets, contextlib.ExitStack() as opened:
        secrets.accounts.add("ada.l", "user")
        secrets.accounts.add("bob.m", "viewer")  # a name does not make a viewer see
        plan = ServerConfig(
            "127.0.0.1:0", data, QueryLimits(), RetentionConfig(), {}, privacy=Privacy("a key", ["team"])
        )

        async def made() -> Any:
            return build_services(plan, secrets, opened, Traffic()).app

        app = asyncio.run(made())
        tokens = {name: secrets.accounts.new_token(name) for name in ("ada.l", "bob.m")}
        shown = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
        shown |= {"admin": {"Authorization": f"Bearer {TOKEN}"}, "nobody": {}}
        with listening(app) as port:
            yield Told({who: _All(port, headers) for who, headers in shown.items()})


@pytest.mark.parametrize(("who", "hidden"), [("ada.l", BOB), ("nobody", BOB + ADA), ("bob.m", BOB + ADA)])
def test_no_route_tells_of_others(everybody: Told, who: str, hidden: tuple[str, ...]) -> None:
    own_name = {"/?", "/api/session?"}  # where it says who is asking
    for path in paths():
        words = [word for word in hidden if not (word == who and path in own_name)]
        body = everybody.of(who)[path].body
        assert [word for word in words if word.encode() in body] == [], path


def test_every_route_that_tells_of_people_was_asked_and_answered(everybody: Told) -> None:
    answers = {path: everybody.of("admin")[path] for path in paths()}
    telling = {path.partition("?")[0] for path, answer in answers.items() if b"bob.m" in answer.body}
    assert telling >= {
        "/api/v1/query", "/api/v1/query_range", "/api/v1/series", "/api/v1/label/user/values", "/federate",
        "/api/v1/status/tsdb", "/api/events", "/api/bindings", "/api/jobs", "/api/users",
    }  # fmt: skip


@pytest.mark.parametrize(
    "path", ["/api/bindings", "/api/jobs", "/api/users", "/api/events", "/api/v1/series"]
)
@pytest.mark.parametrize(("who", "seen"), [("ada.l", ADA), ("admin", ADA + BOB)])
def test_own_things_are_seen_and_an_admin_sees_all(
    everybody: Told, path: str, who: str, seen: tuple[str, ...]
) -> None:
    query = urlencode(ASKED.get(path, [{}])[0])
    body = everybody.of(who)[f"{path}?{query}"].body.decode()
    words = {"/api/users": seen[0::5], "/api/events": (*seen[0::5], *seen[1::5], *seen[3::5])}.get(path, seen)
    assert [word for word in words if word not in body] == []


def values(everybody: Told, who: str, query: str) -> list[dict[str, str]]:
    return [row["metric"] for row in everybody.json(who, "/api/v1/query", query=query)["data"]["result"]]


def test_pseudonym_is_the_same_in_the_api_and_in_queries_and_can_be_asked_for(everybody: Told) -> None:
    jobs = everybody.json("ada.l", "/api/jobs")["jobs"]
    (other,) = [job for job in jobs if job["user"] != "ada.l"]
    assert other["user"].startswith("user-")
    assert other["facts"] == {"reason": "Priority"}
    (labels,) = values(everybody, "ada.l", f'job_info{{user="{other["user"]}"}}')
    assert labels["job_id"] == other["id"]
    assert everybody.json("ada.l", "/api/jobs", user=other["user"])["jobs"] == [other]
    assert everybody.json("ada.l", "/api/jobs", job=other["id"])["jobs"] == [other]
    bindings = everybody.json("ada.l", "/api/bindings", job=other["id"])["bindings"]
    assert {row["user"] for row in bindings} == {other["user"]}
    assert len(values(everybody, "ada.l", "gpu_busy * on (job_id) group_left (user) job_info")) == 2


@pytest.mark.parametrize(
    "query",
    [
        'job_info{user="bob.m"}',
        'job_info{user=~"bob.*"}',
        'gpu_busy{job_id="4711.batch"}',
        'count({cmdline=~".*secret.*"})',
        'job_info and on (user) label_replace(vector(1), "user", "bob.m", "", "")',
    ],
)
def test_name_of_another_finds_nothing(everybody: Told, query: str) -> None:
    assert values(everybody, "ada.l", query) == []
    assert values(everybody, "admin", query) != []


def test_negated_name_of_another_excludes_nothing(everybody: Told) -> None:
    assert len(values(everybody, "ada.l", 'job_info{user!="bob.m"}')) == 2


@pytest.mark.parametrize("path", ["/api/bindings", "/api/jobs", "/api/users"])
@pytest.mark.parametrize("query", ["user=bob.m", "job=4711.batch"])
def test_filter_by_the_name_of_another_finds_nothing(everybody: Told, path: str, query: str) -> None:
    answer = everybody.of("ada.l")[f"{path}?{quote(query, safe='=')}"].json
    assert next(iter(answer.values())) == []


def test_open_hides_nothing_and_admin_is_not_masked() -> None:
    assert Privacy().mask(Identity("viewer", "")) is None
    assert Privacy("key").mask(Identity("admin", "admin")) is None
    assert Privacy("key").mask(Identity("viewer", "")) is not None


def test_pseudonyms_of_two_servers_differ() -> None:
    assert Pseudonyms(b"a", "").word("user", "bob") != Pseudonyms(b"b", "").word("user", "bob")


@given(st.dictionaries(st.sampled_from([*LABELS, "instance", "id", "kind"]), st.text(max_size=8)))
def test_labels_of_others_keep_their_names_and_emptiness_and_hide_their_values(
    labels: dict[str, str],
) -> None:
    seen = Pseudonyms(b"key", "ada").labels(labels)
    if next((labels[name] for name in ("user", "username", "owner") if labels.get(name)), "") == "ada":
        assert seen == labels
        return
    assert {name: bool(text) for name, text in seen.items()} == {n: bool(t) for n, t in labels.items()}
    assert all(seen[name] != labels[name] for name in labels if name in LABELS and labels[name])


def test_names_of_another_engine_cannot_be_hidden_and_the_key_is_for_its_owner(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs the embedded store"):
        privacy(
            {"privacy": "own", "store": "http://elsewhere", "privacy_labels": [], "hide_hosts": False},
            tmp_path,
        )
    own = {"privacy": "own", "store": "", "privacy_labels": ["team"], "hide_hosts": False}
    first, again = (privacy(own, tmp_path).mask(Identity("viewer", "")) for _ in range(2))
    assert first is not None
    assert again is not None
    assert first.word("user", "bob") == again.word("user", "bob")
    assert first.hides("team")
    assert (tmp_path / "privacy-key").stat().st_mode & 0o077 == 0


def test_names_of_other_families_are_nobodys_secret() -> None:
    mask = Pseudonyms(b"key", "ada", containers={("n1", "mine")})
    assert mask.labels({"__name__": "node_os_info", "name": "Debian"})["name"] == "Debian"
    theirs = {"__name__": "container_last_seen", "instance": "n1", "name": "theirs", "image": "x"}
    assert mask.labels(theirs)["name"] == mask.word("container", "theirs"), "as a holder, so that joins hold"
    assert mask.labels({**theirs, "name": "mine"})["name"] == "mine"
    elsewhere = {**theirs, "name": "mine", "instance": "n2"}
    assert mask.labels(elsewhere)["name"] != "mine", "another node's container of that name is another's"
