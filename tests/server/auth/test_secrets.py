"""Secrets: made once, kept hashed for the owner alone, known again in constant time."""

from __future__ import annotations

import contextlib
import hmac
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.server.known import known_secrets
from vigie.server.auth import passwords
from vigie.server.auth.accounts import Accounts
from vigie.server.auth.secrets import Secrets
from vigie.server.auth.secrets_file import SecretsError, SecretsFile
from vigie.server.auth.tokens import LINK_SECONDS, MAX_SESSIONS, SESSION_SECONDS, Sessions, Tokens
from vigie.server.identity import Identity
from vigie.server.run import greeting


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Secrets]:
    """Open the secrets of a first start."""
    with contextlib.closing(Secrets(tmp_path)) as opened:
        yield opened


@pytest.fixture
def secrets() -> Iterator[Secrets]:
    """Open secrets whose admin has no password."""
    with known_secrets(TOKEN) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Iterator[SecretsFile]:
    with contextlib.closing(SecretsFile(tmp_path)) as opened:
        yield opened


TOKEN = "a-token-for-tests"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_first_start_makes_a_password_that_works_and_is_told_once(tmp_path: Path, first: Secrets) -> None:
    password = first.first_password
    assert password
    assert first.check("admin", password) == Identity("admin", "admin")
    assert first.check("admin", password + "x") is None
    with contextlib.closing(Secrets(tmp_path)) as again:
        assert again.first_password is None
        assert again.check("admin", password) == Identity("admin", "admin")
        assert again.join_token == first.join_token


def test_nothing_on_disk_can_be_read_by_others_or_holds_a_secret_but_the_two_token_files(
    tmp_path: Path, first: Secrets
) -> None:
    first.accounts.add("w", "writer")
    shown = [
        first.first_password or "",
        first.new_node_key("n1"),
        first.accounts.new_token("w"),
        first.sessions.open("admin"),
        first.sessions.link("admin"),
    ]
    files = {path.name: path for path in tmp_path.iterdir()}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}
    assert {"server-token", "join-token", "secrets.db"} <= set(files)
    kept = b"".join(path.read_bytes() for path in files.values())
    for secret in shown:
        assert secret.rpartition(".")[2].encode() not in kept


def test_tokens_tell_who_shows_them(secrets: Secrets) -> None:
    secrets.accounts.add("w", "writer")
    assert secrets.identify(TOKEN) == Identity("admin", "admin")
    assert secrets.identify(secrets.join_token) == Identity("join", "")
    assert secrets.identify(secrets.new_node_key("n1,n2")) == Identity("node", "n1,n2")
    assert secrets.identify(secrets.accounts.new_token("w")) == Identity("writer", "w")


def test_session_is_no_token_and_a_token_no_session(secrets: Secrets) -> None:
    session, key = secrets.sessions.open("admin"), secrets.new_node_key("n1")
    assert secrets.identify_session(session) == Identity("admin", "admin")
    assert secrets.identify(session) is None
    assert secrets.identify(secrets.sessions.link("admin")) is None
    assert secrets.identify_session(key) is None
    assert secrets.identify_session(secrets.sessions.link("admin")) is None


def test_key_before_stays_valid_until_the_new_one_is_used(secrets: Secrets) -> None:
    old = secrets.new_node_key("n1")
    assert secrets.identify(old)
    new, other = secrets.new_node_key("n1"), secrets.new_node_key("n2")
    assert secrets.identify(old) == Identity("node", "n1")
    assert secrets.identify(new) == Identity("node", "n1")
    assert secrets.identify(old) is None
    assert secrets.identify(other) == Identity("node", "n2")


def test_key_that_was_used_outlives_any_number_of_keys_that_were_not(secrets: Secrets) -> None:
    used = secrets.new_node_key("n1")
    secrets.identify(used)
    unused = [secrets.new_node_key("n1") for _ in range(20)]
    assert secrets.identify(used)
    assert secrets.identify(unused[0]) is None
    assert secrets.identify(unused[-1]) == Identity("node", "n1")


def test_revoked_node_is_unknown_and_the_others_are_not(secrets: Secrets) -> None:
    one, other = secrets.new_node_key("n1"), secrets.new_node_key("n10")
    secrets.revoke("n1")
    assert secrets.identify(one) is None
    assert secrets.identify(other)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=60,
)
@given(st.text())
def test_any_text_is_nobody(secrets: Secrets, text: str) -> None:
    for token in (text, f"vigie_{text}", f"vigie_{text}.{text}"):
        assert secrets.identify(token) is None
        assert secrets.identify_session(token) is None
        assert secrets.sessions.redeem(token) is None
    assert secrets.recall(text, text) is None


def test_every_secret_is_compared_in_constant_time(secrets: Secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    real = hmac.compare_digest

    def compare(shown: bytes, kept: bytes) -> bool:
        compared.append(shown)
        return real(shown, kept)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for token in (
        secrets.join_token,
        secrets.new_node_key("n1"),
        TOKEN,
    ):
        compared.clear()
        assert secrets.identify(token)
        assert compared
    compared.clear()
    assert secrets.check("nobody", "whatever it is") is None
    assert compared, "a name that is not there must take as long as one that is"


def test_right_password_is_recalled_without_scrypt_until_it_changes(first: Secrets) -> None:
    password = first.first_password or ""
    assert first.recall("admin", password) is None
    assert first.check("admin", password)
    assert first.recall("admin", password) == Identity("admin", "admin")
    assert first.recall("admin", password + "x") is None
    first.accounts.set_password("admin", "another password")
    assert first.recall("admin", password) is None


def test_recalled_passwords_are_bounded() -> None:
    checker = passwords.PasswordChecker(1)
    one, other = passwords.hash_password("password one"), passwords.hash_password("password two")
    assert checker.check(one, "password one")
    assert checker.check(other, "password two")
    assert not checker.knows(one, "password one")
    assert checker.knows(other, "password two")


def test_password_from_a_file_replaces_the_one_that_was_made(first: Secrets) -> None:
    made = first.first_password or ""
    first.take_password("from a file")
    assert first.first_password is None
    assert first.check("admin", "from a file")
    assert first.check("admin", made) is None
    session = first.sessions.open("admin")
    first.take_password("from a file")
    assert first.identify_session(session), "the same password again ends no session"


def test_account_takes_its_sessions_and_tokens_with_it(secrets: Secrets) -> None:
    secrets.accounts.add("ada", "user")
    session, token = secrets.sessions.open("ada"), secrets.accounts.new_token("ada")
    link = secrets.sessions.link("ada")
    assert secrets.identify_session(session) == Identity("user", "ada")
    secrets.accounts.remove("ada")
    secrets.accounts.add("ada", "admin")
    assert secrets.identify_session(session) is None
    assert secrets.identify(token) is None
    assert secrets.sessions.redeem(link) is None


def test_new_password_ends_the_sessions_of_that_account_only(secrets: Secrets) -> None:
    secrets.accounts.add("ada", "user")
    ours, theirs = secrets.sessions.open("ada"), secrets.sessions.open("admin")
    secrets.accounts.set_password("ada", "long enough")
    assert secrets.identify_session(ours) is None
    assert secrets.identify_session(theirs)


@pytest.mark.parametrize(
    ("name", "role", "password", "why"),
    [
        ("", "viewer", None, "is no name"),
        ("-rf", "viewer", None, "is no name"),
        ("a b", "viewer", None, "is no name"),
        ("a,b", "viewer", None, "is no name"),
        ("x" * 65, "viewer", None, "is no name"),
        ("ada", "root", None, "is no role"),
        ("ada", "node", None, "is no role"),
        ("ada", "user", "short", "at least 8"),
        ("ada", "user", "tab\tin the middle", "can be printed"),
        ("admin", "user", None, "is there already"),
    ],
)
def test_bad_account_is_refused_with_a_reason(
    secrets: Secrets, name: str, role: str, password: str | None, why: str
) -> None:
    with pytest.raises(SecretsError, match=why):
        secrets.accounts.add(name, role, password)
    assert [account.name for account in secrets.accounts.every()] == ["admin"]


def test_last_admin_stays(secrets: Secrets) -> None:
    with pytest.raises(SecretsError, match="last admin"):
        secrets.accounts.remove("admin")
    secrets.accounts.add("ada", "admin")
    secrets.accounts.remove("admin")
    with pytest.raises(SecretsError, match="there is no admin"):
        secrets.accounts.remove("admin")


def test_another_process_sees_changes_at_once(first: Secrets, tmp_path: Path) -> None:
    with contextlib.closing(SecretsFile(tmp_path, make=False)) as file:
        Accounts(file, Tokens(file)).add("ada", "viewer")
    assert first.identity_of("ada") == Identity("viewer", "ada")


def test_sessions_and_links_expire(file: SecretsFile) -> None:
    clock = Clock()
    sessions = Sessions(Tokens(file, clock))
    session, link = sessions.open("ada"), sessions.link("ada")
    clock.now += LINK_SECONDS
    assert sessions.redeem(link) is None
    assert sessions.account(session) == "ada"
    clock.now += SESSION_SECONDS - LINK_SECONDS
    assert sessions.account(session) is None
    sessions.open("bob")
    assert len(file.read("SELECT id FROM token")) == 1, "what has expired is forgotten"


def test_link_opens_one_session_even_when_many_use_it_at_once(file: SecretsFile) -> None:
    sessions = Sessions(Tokens(file))
    link = sessions.link("ada")
    found: list[str | None] = []
    threads = [threading.Thread(target=lambda: found.append(sessions.redeem(link))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sessions.account(token) for token in found if token] == ["ada"]


def test_sessions_of_an_account_are_bounded_and_the_oldest_ends(file: SecretsFile) -> None:
    sessions = Sessions(Tokens(file))
    first, other, second, *_ = (sessions.open(name) for name in ["ada", "bob", *["ada"] * MAX_SESSIONS])
    assert sessions.account(first) is None
    assert sessions.account(second) == "ada"
    assert sessions.account(other) == "bob"


def test_session_ends_when_it_is_ended(file: SecretsFile) -> None:
    sessions = Sessions(Tokens(file))
    session, link = sessions.open("ada"), sessions.link("ada")
    sessions.end(link)
    sessions.end(session)
    assert sessions.account(session) is None
    assert sessions.redeem(link), "a link is no session"


def test_file_that_others_can_read_or_that_is_newer_is_refused(tmp_path: Path) -> None:
    with contextlib.closing(SecretsFile(tmp_path)) as file:
        file.write("PRAGMA user_version = 99")
    with pytest.raises(SecretsError, match="format 99"):
        SecretsFile(tmp_path)
    file.path.chmod(0o640)
    with pytest.raises(SecretsError, match="chmod 600"):
        SecretsFile(tmp_path)


def test_file_that_is_not_there_or_is_garbage_says_so(tmp_path: Path) -> None:
    with pytest.raises(SecretsError, match="--data"):
        SecretsFile(tmp_path, make=False)
    (tmp_path / "secrets.db").write_bytes(b"garbage" * 1000)
    (tmp_path / "secrets.db").chmod(0o600)
    with pytest.raises(SecretsError, match="not a database"):
        SecretsFile(tmp_path)


def test_link_for_a_person_names_a_machine_and_not_every_address(secrets: Secrets) -> None:
    for everywhere in ("http://0.0.0.0:8000", "http://[::]:8000"):
        assert f"http://{socket.gethostname()}:8000/login?once=" in greeting(secrets, everywhere)
    assert "https://127.0.0.1:8000/login?once=" in greeting(secrets, "https://127.0.0.1:8000")


def test_failed_change_leaves_everything_as_it_was(file: SecretsFile) -> None:
    def fail() -> None:
        with file.changes():
            Tokens(file).new("node", "n1")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert file.read("SELECT id FROM token") == []
