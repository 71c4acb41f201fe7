"""Manage accounts and tokens.

Roles: viewer (read-only), user (a viewer with a Unix name of the cluster), admin (everything),
writer (remote write only). Passwords are typed, or read from a file or a pipe, never given as an argument.
"""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from vigie.cli import _list_output
from vigie.cli.settings import flags
from vigie.server.auth.accounts import ROLES, Account, Accounts
from vigie.server.auth.passwords import MAX_PASSWORD, first_line
from vigie.server.auth.secrets_file import SecretsError, SecretsFile
from vigie.server.auth.tokens import Tokens
from vigie.views.text.table_layout import TableColumn

EXAMPLE = """examples:
  vigie users list
  vigie users add ada --role user                       asks for a password
  vigie users add grafana --role viewer --token         prints a token, once
  vigie users add prometheus --role writer              the same, for remote write
  vigie users passwd admin --password-file /run/secrets/admin"""
ERRORS = (*flags.ERRORS, SecretsError, ValueError)
COLUMNS = (TableColumn("name"), TableColumn("role"), TableColumn("credential"), TableColumn("since"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|add|remove|passwd")
    listing = actions.add_parser("list", help="list accounts and roles")
    listing.add_argument("--json", action="store_true", help="print JSON")
    adding = actions.add_parser("add", help="add an account")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("--role", choices=ROLES, default="viewer", help="role (default: %(default)s)")
    adding.add_argument("--token", action="store_true", help="issue a token instead of a password")
    removing = actions.add_parser("remove", help="remove an account, its sessions and its tokens")
    removing.add_argument("name", metavar="NAME")
    changing = actions.add_parser("passwd", help="change a password and end its sessions")
    changing.add_argument("name", metavar="NAME")
    for action in (adding, changing):
        action.add_argument(
            "--password-file", type=Path, metavar="FILE", help="read the password from its first line"
        )
    for action in (listing, adding, removing, changing):
        action.epilog, action.formatter_class = EXAMPLE, parser.formatter_class
        flags.add_flags(action, "users")


def run(arguments: argparse.Namespace) -> int:
    """Change accounts; a running server sees it at once."""
    data = flags.data_directory(flags.resolve(arguments), "server")
    file = SecretsFile(data, make=False)
    try:
        accounts = Accounts(file, Tokens(file))
        {"list": _list, "add": _add, "remove": _remove, "passwd": _passwd}[arguments.action](
            accounts, arguments
        )
    finally:
        file.close()
    return 0


def _list(accounts: Accounts, arguments: argparse.Namespace) -> None:
    rows = [_row(account) for account in accounts.every()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    _list_output.show_table(COLUMNS, [list(row.values()) for row in rows])


def _row(account: Account) -> dict[str, str]:
    since = datetime.fromtimestamp(account.made, UTC).strftime("%Y-%m-%d")
    by = "token" if account.password is None else "password"
    return {"name": account.name, "role": account.role, "by": by, "since": since}


def _add(accounts: Accounts, arguments: argparse.Namespace) -> None:
    if not arguments.token and arguments.role != "writer":
        accounts.add(arguments.name, arguments.role, _password(arguments))
        return
    if arguments.password_file:
        raise ValueError("use either --token or --password-file; a writer has a token")
    accounts.add(arguments.name, arguments.role)
    print(accounts.new_token(arguments.name))
    print("vigie users: token (shown once)", file=sys.stderr)


def _remove(accounts: Accounts, arguments: argparse.Namespace) -> None:
    accounts.remove(arguments.name)


def _passwd(accounts: Accounts, arguments: argparse.Namespace) -> None:
    accounts.set_password(arguments.name, _password(arguments))


def _password(arguments: argparse.Namespace) -> str:
    if arguments.password_file:
        return first_line(arguments.password_file.read_text(encoding="utf-8"))
    if not sys.stdin.isatty():
        return first_line(sys.stdin.read(4 * MAX_PASSWORD))
    password = getpass.getpass(f"Password of {arguments.name}: ")
    if getpass.getpass("Repeat: ") != password:
        raise ValueError("passwords do not match")
    return password
