"""What the kinds of systems make of a plan's [systems.NAME] table, before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.systems import SYSTEMS
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.server.control import Address, Login
from builders.systems import GivenNode, configured
from pymysql.err import InternalError, OperationalError


def refusal(kind: str, options: dict[str, Any], **levels: Any) -> PlanError:
    with pytest.raises(PlanError) as refused:
        configured(kind, Path("/nowhere"), options, **levels)
    return refused.value


@pytest.mark.parametrize(
    ("kind", "options", "where", "hint"),
    [
        ("mariadb", {"adress": "db1"}, "systems.mariadb.adress", "did you mean `address`?"),
        ("mariadb", {"start": {"versoin": "10"}}, "systems.mariadb.start.versoin", "did you mean `version`?"),
        ("postgresql", {"address": "a", "databse": "x"}, "systems.postgresql.databse", "did you mean `database`?"),
        ("mariadb", {"start": True, "clinet": "wire"}, "systems.mariadb.clinet", "did you mean `client`?"),
        ("sqlite", {"setings": {}}, "systems.sqlite.setings", "did you mean `settings`?"),
        ("null", {"latency_ms": 1}, "systems.null.latency_ms", "did you mean `latency_ns`?"),
    ],
)
def test_an_unknown_key_is_refused_at_its_place_with_the_nearest_known(
    kind: str, options: dict[str, Any], where: str, hint: str
) -> None:
    refused = refusal(kind, options)
    assert refused.what.startswith("unknown key")
    assert (refused.where, refused.hint) == (where, hint)


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (OperationalError(2026, "SSL is required but the server doesn't support it"), "leave out `tls`"),
        (OperationalError(2013, "Lost connection"), "a proxy"),
        (OperationalError(3159, "Insecure transport"), "`tls.ca_file`"),
        (InternalError("Packet sequence number wrong - got 55 expected 0"), "address of a MariaDB or MySQL server"),
    ],
)
def test_what_is_no_server_as_asked_for_is_reported_with_what_to_do(error: Exception, hint: str) -> None:
    told = Control(Login(Address("db1", 3306), "bench", "secret"), where="systems.ours")._explained(
        error, logged_in=True
    )
    assert hint in told.hint
    assert "secret" not in f"{told} {told.hint}"


def test_postgresql_has_no_level_that_would_be_another_in_truth() -> None:
    started = {"start": True}
    assert "known: full, none" in refusal("postgresql", started, durability="relaxed").hint
    uncommitted = refusal("postgresql", started, isolation="read-uncommitted")
    assert uncommitted.where == "systems.postgresql.isolation"
    assert uncommitted.hint == "it has read-committed, repeatable-read, snapshot, serializable"
    for level in ("repeatable-read", "snapshot"):
        configured("postgresql", Path("/nowhere"), started, isolation=level)


def test_postgresql_is_found_by_the_folder_of_its_socket_too() -> None:
    system = configured("postgresql", Path("/"), {"address": "/run/postgresql/"})
    assert system.engine_driver()[0]["endpoints"][0]["address"] == "/run/postgresql/.s.PGSQL.5432"


@pytest.mark.parametrize(("kind", "client"), [("mariadb", "mysql_async"), ("postgresql", "tokio_postgres")])
def test_a_client_library_of_before_is_refused_with_what_to_do(kind: str, client: str) -> None:
    refused = refusal(kind, {"start": True, "tls": True, "client": client})
    assert refused.what == f"the client {client} is no longer part of bakeoff"
    assert refused.where == f"systems.{kind}.client"
    assert refused.hint == "leave `client` out: bakeoff's own client makes the load, with `tls`, too"


def test_a_key_of_a_server_is_found_relative_to_the_plan_and_a_managed_one_needs_none() -> None:
    keyed = configured("mysql", Path("/plans"), {"address": "db1", "server_public_key_file": "key.pem"})
    assert keyed.engine_driver()[0]["server_public_key_file"] == "/plans/key.pem"
    managed = refusal("mariadb", {"start": True, "server_public_key_file": "key.pem"})
    assert managed.where == "systems.mariadb.server_public_key_file"


def test_allowed_words_are_named_as_a_plan_writes_them() -> None:
    assert refusal("mariadb", {"start": True, "client": "odbc"}).hint == "it is one of: wire"
    hint = refusal("mariadb", {"start": True, "io": "epoll"}).hint
    assert " schema," in hint
    assert "schema_" not in hint


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"version": "10.11", "address": "db1"}, "`version` is an option of managed servers"),
        ({"version": "10.11", "start": {"version": "10.6"}}, "`version` is set twice"),
        ({"start": True, "address": "db1"}, "exclude each other"),
        ({"address": "db1:0"}, "is not an address"),
        ({"address": "db1:99999"}, "is not an address"),
        ({"address": "db1", "password": {"env": "A", "file": "b"}}, "needs either env"),
        ({"address": "db1", "password": "secret"}, "must be a table"),
        ({"address": "db1", "settings": {"sync_binlog": 1}}, "does not change the settings of an existing server"),
        ({"start": {"settings": {"datadir": "/x"}}}, "datadir of a managed server is set by bakeoff"),
        ({"start": {"settings": {"Skip-Grant-Tables": True}}}, "skip_grant_tables of a managed server"),
        ({"start": {"settings": {"a": "1\nuser=root"}}}, "is not a valid setting"),
        ({"start": True, "tls": {"ca_file": "ca.pem"}}, "does not use your certificate"),
        ({"start": {"connect": "socket"}, "tls": True}, "a unix socket cannot be encrypted"),
        ({"start": True, "client": "odbc"}, 'cannot be "odbc"'),
        ({"start": {"connect": "pipe"}}, '`connect` cannot be the text "pipe"'),
        ({"start": {"settings": {"ssl_cert": "x"}}}, "ssl_cert of a managed server is set by bakeoff"),
        ({"start": {"settings": {"sync_binlog": 1}}, "settings": {"sync-binlog": 0}}, "set twice"),
    ],
)
def test_impossible_mariadb_tables_are_refused_before_anything_starts(options: dict[str, Any], what: str) -> None:
    assert what in refusal("mariadb", options).what


def test_a_literal_password_is_not_repeated_in_the_refusal() -> None:
    refused = refusal("mariadb", {"address": "db1", "password": "hunter2"})
    assert "hunter2" not in f"{refused}{refused.hint}"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("mariadb", {"start": {"settings": {"innodb-flush-log-at-trx-commit": 2}}}),
        ("sqlite", {"settings": {"synchronous": "OFF"}}),
    ],
)
def test_durability_and_the_setting_it_means_exclude_each_other(kind: str, options: dict[str, Any]) -> None:
    refused = refusal(kind, options, durability="full")
    assert "also durability = 'full', which implies it" in refused.what


@pytest.mark.parametrize(
    ("kind", "level"), [("mariadb", "snapshot"), ("sqlite", "read-committed"), ("null", "snapshot")]
)
def test_an_isolation_level_that_a_kind_lacks_is_refused(kind: str, level: str) -> None:
    options = {"start": True} if kind == "mariadb" else {}
    assert "isolation" in refusal(kind, options, isolation=level).what


@pytest.mark.parametrize(
    ("text", "address", "again"),
    [
        ("db1", Address("db1", 3306), "db1:3306"),
        ("db1:3307", Address("db1", 3307), "db1:3307"),
        ("[::1]:3307", Address("::1", 3307), "[::1]:3307"),
        ("[::1]", Address("::1", 3306), "[::1]:3306"),
        ("/run/s.sock", Address(socket="/run/s.sock"), "/run/s.sock"),
    ],
)
def test_addresses_are_read_and_written_as_the_engine_wants_them(text: str, address: Address, again: str) -> None:
    assert Address.parse(text, "", default_port=3306) == address
    assert str(address) == again


def test_an_existing_system_gives_the_engine_the_name_of_the_secret_and_never_the_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    options = {
        "address": "db1",
        "user": "bench",
        "password": {"env": "DB_PASSWORD"},
        "schema": "bench",
        "tls": {"ca_file": "ca.pem"},
        "session": {"sort_buffer_size": 1048576, "big_tables": True},
    }
    driver, environment = configured("mysql", Path("/plans"), options).engine_driver()
    assert driver == {
        "kind": "mysql",
        "access": "sql",
        "endpoints": [{"name": "server", "role": "primary", "address": "db1:3306"}],
        "user": "bench",
        "password": {"env": "DB_PASSWORD"},
        "schema": "bench",
        "tls": {"ca_file": "/plans/ca.pem", "verify": True},
        "session": {"sort_buffer_size": "1048576", "big_tables": "ON"},
        "client": None,
        "server_public_key_file": None,
    }
    assert environment == {}


def test_a_password_file_is_found_relative_to_the_plan(tmp_path: Path) -> None:
    options = {"address": "db1", "password": {"file": "secret.txt"}}
    driver, _ = configured("mysql", tmp_path, options).engine_driver()
    assert driver["password"] == {"file": str(tmp_path / "secret.txt")}


def test_a_password_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    system = configured("mysql", Path("/"), {"address": "127.0.0.1:1", "password": {"env": "DB_PASSWORD"}})
    with pytest.raises(PlanError, match="DB_PASSWORD that holds the password is not set"):
        system.start()


def test_the_null_systems_options_become_the_drivers() -> None:
    options = {"latency_ns": 1000, "latency": "exponential", "stalls": [{"at_s": 1, "for_s": 2}], "store": True}
    driver, _ = configured("null", Path("/"), options).engine_driver()
    assert driver["kind"] == "null"
    assert (driver["latency_ns"], driver["latency"], driver["store"]) == (1000, "exponential", True)
    assert driver["stalls"] == [{"at_s": 1.0, "for_s": 2.0}]


def test_a_plan_may_go_on_to_name_our_own_client() -> None:
    driver, _ = configured("mysql", Path("/x"), {"address": "db1", "tls": True, "client": "wire"}).engine_driver()
    assert driver["client"] == "wire"


def test_what_is_at_an_address_needs_no_program_here() -> None:
    assert SYSTEMS["mysql"].available({"address": "db1"}) is None
    assert SYSTEMS["mariadb"].available({"address": "db1"}) is None
    assert SYSTEMS["sqlite"].available({}) is None


def test_a_server_version_that_is_not_here_is_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path))
    missing = SYSTEMS["mariadb"].available({"start": {"version": "9.9"}})
    assert missing is not None
    assert "no MariaDB server 9.9" in missing


def test_every_kind_is_listed_under_its_own_name_with_a_summary() -> None:
    for name, kind in SYSTEMS.items():
        assert kind.kind == name
        assert kind.summary


def test_a_part_of_an_option_of_the_driver_is_refused_at_the_option() -> None:
    refused = refusal("mysql", {"address": "a", "tls": {"cafile": "x"}})
    assert refused.what == "`tls` has no part `cafile`"
    assert (refused.where, refused.hint) == ("systems.mysql.tls", "did you mean `ca_file`?")


def test_what_the_engine_alone_knows_is_no_option_of_a_plan() -> None:
    for option in ("endpoints",):
        assert refusal("mysql", {"address": "a", option: 1}).what == f"unknown key `{option}`"
    assert refusal("null", {"store_path": "/x"}).what == "unknown key `store_path`"


def test_options_of_the_way_shape_no_data_and_variables_of_sessions_may() -> None:
    table = {"start": True, "tls": True, "client": "wire", "session": {"sql_mode": "ANSI"}}
    assert SYSTEMS["mariadb"].shaping_options(table, None) == {"start": True, "session": {"sql_mode": "ANSI"}}


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "postgresql"])
def test_a_single_server_is_a_list_of_one_node(kind: str) -> None:
    """What the engine is told to connect to and what is watched come from it."""
    system = configured(kind, Path("/"), {"address": "db1:1234", "user": "u"})
    (node,) = system.nodes()
    assert (node.name, node.role, node.address, node.pids()) == ("server", "primary", "db1:1234", [])
    assert system.engine_driver()[0]["endpoints"] == [node.endpoint()]
    assert system.pids() == []


def test_processes_are_those_of_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    system = configured("mysql", Path("/"), {"address": "db1:1234"})
    two = [GivenNode("a", pids=(1, 2)), GivenNode("b", role="replica", pids=(3,))]
    monkeypatch.setattr(system, "nodes", lambda: two)
    assert system.pids() == [1, 2, 3]
    assert [one["role"] for one in system.engine_driver()[0]["endpoints"]] == ["primary", "replica"]
