"""Fair shares, from the lines of `sshare -a -n -P -o account,user,fairshare`."""

from __future__ import annotations

from collections.abc import Iterable

from vigie.sources.core.tree import parse_number

MAX_ACCOUNTS = 10_000


def parse_fair_shares(lines: Iterable[str]) -> dict[str, float]:
    """Return the factor of each account: its own, or where only users have one their mean.

    >>> parse_fair_shares(["root||", " root|root|1.0", " prod||", "  prod|bob|0.5", "  prod|eve|0.3", "x"])
    {'root': 1.0, 'prod': 0.4}
    """
    of_account: dict[str, float] = {}
    of_users: dict[str, list[float]] = {}
    for line in lines:
        account, _, rest = line.strip().partition("|")
        user, _, text = rest.partition("|")
        factor = parse_number(text.strip())
        if factor is None or not account or len(of_users) + len(of_account) > MAX_ACCOUNTS:
            continue
        if user:
            of_users.setdefault(account, []).append(factor)
        else:
            of_account[account] = factor
    means = {account: sum(factors) / len(factors) for account, factors in of_users.items()}
    return {**means, **of_account}
