"""Who may log in to a private cluster, and when its nodes are one.

Cassandra makes an account with a password that everybody knows, and listens. Ours takes its place as soon as anybody
can log in, and if somebody was quicker that shows: an account is there that we did not make.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial

from bakeoff.errors import ServerError
from bakeoff.provision.server import LOG_KEPT
from bakeoff.systems.cassandra.control import ALL, literal
from bakeoff.systems.cassandra.ledger import create_keyspace
from bakeoff.systems.cassandra.process import SUPERUSER, CassandraProcess
from bakeoff.systems.server.process import BENCH_USER

#: Name and password of the account that Cassandra makes.
_DEFAULT = "cassandra"
_POLL_S = 0.1


def make(server: CassandraProcess, copies: int, timeout_s: float) -> None:
    """The accounts and the keyspace of the plan, by a node of a cluster that has neither. copies: of each row. Raises
    ServerError."""
    _until_done(partial(_make, server, copies), server, "no one could log in", timeout_s)
    with closing(server.make_control()) as control:
        strangers = {str(name) for (name,) in control.rows("SELECT role FROM system_auth.roles")}
    if strangers := strangers - {SUPERUSER, BENCH_USER}:
        raise ServerError(
            f"somebody else has made the account {min(strangers)!r} on it while it started",
            where=server.where,
            hint="another user of this machine looks for such servers: find out who, and do not measure beside them",
        )


def wait_until_one(servers: Sequence[CassandraProcess], timeout_s: float) -> None:
    """Until each node reaches all others. Raises ServerError."""
    for server in servers:
        _until_done(partial(_reach_all, server), server, "not every node was there for the others", timeout_s)


def _make(server: CassandraProcess, copies: int) -> None:
    """As often as it takes."""
    with closing(server.make_control()) as control:
        if not control.answers():
            with closing(server.control_as(_DEFAULT, _DEFAULT)) as first:
                first.rows(_role(SUPERUSER, server.root_password, superuser=True))
        control.rows(_role(BENCH_USER, server.bench_password, superuser=False))
        control.rows(f"DROP ROLE IF EXISTS {_DEFAULT}")
        control.rows(create_keyspace(server.spec.schema, copies))


def _role(name: str, password: str, *, superuser: bool) -> str:
    rights = f"LOGIN = true AND SUPERUSER = {str(superuser).lower()}"
    return f"CREATE ROLE IF NOT EXISTS {name} WITH PASSWORD = {literal(password)} AND {rights}"


def _reach_all(server: CassandraProcess) -> None:
    """Every node has a copy of the accounts."""
    with closing(server.control_as(SUPERUSER, server.root_password, ALL)) as control:
        control.rows("SELECT role FROM system_auth.roles WHERE role = ?", SUPERUSER)


def _until_done(action: Callable[[], None], server: CassandraProcess, otherwise: str, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            action()
            return
        except ServerError as error:
            if time.monotonic() > deadline:
                raise ServerError(
                    f"{otherwise} within {timeout_s:.0f} s: {error.what}", where=server.where, hint=LOG_KEPT
                ) from error
        time.sleep(_POLL_S)
