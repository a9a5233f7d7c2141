"""What the documents promise about other people's data, on real servers: everything but bakeoff's own tables is equal
before and after plans of several workloads, `bakeoff drop`, and hostile SQL."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from bakeoff.systems.cassandra.options import SOURCES as CASSANDRA
from bakeoff.systems.mysql.mariadb import SOURCES as MARIADB
from bakeoff.systems.mysql.mysql import SOURCES as MYSQL
from bakeoff.systems.postgresql.control import Control as PostgreSqlControl
from bakeoff.systems.postgresql.system import SOURCES as POSTGRESQL
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.redis.system import SOURCES as REDIS
from builders.systems import running
from commands import bakeoff, write_plan

SECRET = "PROMISES_PASSWORD"
YCSB = 'kind = "ycsb"\npreset = "a"\nrecords = 200'
SYSBENCH = 'kind = "sysbench"\ntables = 2\ntable_size = 100'
OWN = """kind = "sql"
schema = "schema.sql"
after_load = "after.sql"
scripts = ["script.sql"]
load = { a = { rows = 100, columns = { id = "row", x = "0" } } }
checks = [{ name = "rows", equal = ["SELECT COUNT(*) FROM a", "SELECT 100"] }]"""
FILES = {
    "schema.sql": "CREATE TABLE a (id INT NOT NULL PRIMARY KEY, x INT);",
    "after.sql": "CREATE INDEX a_x ON a (x);",
    "script.sql": "\\set id random(1, 100)\nUPDATE a SET x = x + 1 WHERE id = :id;",
}
PLAN = """
title = "Next to other people's data"
[systems.theirs]
{system}
[workload]
{workload}
[measure]
reset = "none"
warm_up = 0
operations = 50
repetitions = 1
timeout = "10m"
"""

Dump = dict[str, Any]


class Kept(ABC):
    """A server that somebody uses, and all that is in it."""

    workloads: Sequence[str] = (YCSB, SYSBENCH, OWN)
    #: Each changes something of others, where it is carried out; all in a file of the schema.
    hostile: Sequence[str] = ()

    @abstractmethod
    def plan_lines(self) -> str: ...

    def environment(self) -> dict[str, str]:
        return {}

    @abstractmethod
    def plant(self) -> None:
        """Tables next to the plan's and elsewhere, and whatever else a server holds."""

    @abstractmethod
    def everything(self) -> Dump: ...


class _ServerKept(Kept):
    """place: the plan's key for where its tables are."""

    place = "schema"

    def __init__(self, system: Any) -> None:
        self._system = system
        self._rows = system.control.rows

    def plan_lines(self) -> str:
        login = self._system.server.bench_login("tcp")
        return (
            f'kind = "{self._system.kind}"\naddress = "{login.address}"\nuser = "{login.user}"\n'
            f'password = {{ env = "{SECRET}" }}\n{self.place} = "bakeoff"'
        )

    def environment(self) -> dict[str, str]:
        return {SECRET: self._system.server.bench_login("tcp").password}


class _MySqlKept(_ServerKept):
    hostile = (
        "CREATE OR REPLACE TABLE precious (x INT);",
        "CREATE OR REPLACE TABLE elsewhere.precious (x INT);",
        "ANALYZE DELETE FROM precious;",
        "EXECUTE IMMEDIATE 'DELETE FROM precious';",
        "INSERT INTO precious VALUES (1, 'theirs') ON DUPLICATE KEY UPDATE t = 'ours';",
        "USE elsewhere; INSERT INTO precious VALUES (7, 'ours');",
        "CREATE TRIGGER gone AFTER INSERT ON precious FOR EACH ROW SET @a = 1;",
        "SET GLOBAL max_connections = 77;",
        "DROP USER keeper@localhost;",
        "SHUTDOWN;",
        "CREATE TABLE b (SELECT load_file('/etc/hostname'));",
        "CREATE TABLE b (LIKE precious);",
        "CREATE TABLE b (TABLE precious);",
        "CREATE TABLE b (x INT) PARTITION BY HASH (x) PARTITIONS 2 SELECT 1 AS x;",
        "CREATE TABLE b (x INT) PARTITION BY HASH (x) PARTITIONS 2 AS SELECT id AS x FROM precious FOR UPDATE;",
        "CREATE TABLE b (x INT) PARTITION BY HASH (x) REPLACE SELECT 1 AS x;",
        "DELETE FROM a USING precious AS a WHERE a.id = 1;",
    )
    #: What counts up by itself.
    _MOVING = ("gtid_binlog_pos", "gtid_current_pos", "timestamp", "error_count", "warning_count", "gtid_executed")
    _COUNTED = ("innodb_index_stats", "innodb_table_stats", "general_log", "slow_log", "transaction_registry")
    _OWN = ("bakeoff_tables", "usertable", "sbtest1", "sbtest2", "a")

    def plant(self) -> None:
        self._rows("CREATE DATABASE elsewhere")
        for schema in ("bakeoff", "elsewhere"):
            self._rows(f"CREATE TABLE {schema}.precious (id INT PRIMARY KEY, t VARCHAR(20))")
            self._rows(f"INSERT INTO {schema}.precious VALUES (1, 'one'), (2, 'two')")
            self._rows(f"CREATE VIEW {schema}.seen AS SELECT t FROM {schema}.precious")
            self._rows(f"CREATE TRIGGER {schema}.watch BEFORE UPDATE ON {schema}.precious FOR EACH ROW SET @seen = 1")
            self._rows(f"CREATE PROCEDURE {schema}.act() SELECT 1")
        self._rows("CREATE TABLE elsewhere.usertable (y INT)")
        # The plan's own user may do all of it: only bakeoff keeps it from that.
        self._rows("GRANT ALL ON elsewhere.* TO bench@'127.0.0.1'")
        self._rows("CREATE USER keeper@localhost")
        self._rows("GRANT SELECT ON elsewhere.* TO keeper@localhost")

    def everything(self) -> Dump:
        found: Dump = {}
        tables = self._rows(
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'sys') ORDER BY 1, 2"
        )
        for schema, table, kind in tables:
            if (schema == "bakeoff" and table in self._OWN) or table in self._COUNTED or table.startswith("gtid_"):
                continue
            name = f"`{schema}`.`{table}`"
            found[f"definition of {name}"] = self._rows(f"SHOW CREATE TABLE {name}")[0][1]
            if kind == "BASE TABLE":
                found[f"rows of {name}"] = sorted(map(repr, self._rows(f"SELECT * FROM {name}")))
        own = ", ".join(f"'{name}'" for name in self._OWN)
        for view, order in (("TRIGGERS", "TRIGGER_NAME"), ("ROUTINES", "ROUTINE_NAME"), ("EVENTS", "EVENT_NAME")):
            beside = f"WHERE NOT (EVENT_OBJECT_SCHEMA = 'bakeoff' AND EVENT_OBJECT_TABLE IN ({own}))"
            which = beside if view == "TRIGGERS" else ""
            found[view] = sorted(
                map(repr, self._rows(f"SELECT * FROM information_schema.{view} {which} ORDER BY {order}"))
            )
        found["variables"] = {
            name: value for name, value in self._rows("SHOW GLOBAL VARIABLES") if name not in self._MOVING
        }
        return found


class _PostgreSqlKept(_ServerKept):
    place = "database"
    hostile = (
        "CREATE TABLE a AS WITH d AS (DELETE FROM precious RETURNING 1) SELECT * FROM d;",
        "CREATE TABLE a (x INT); EXPLAIN ANALYZE DELETE FROM precious;",
        "CREATE TABLE a (x INT); PREPARE p AS DELETE FROM precious; EXECUTE p;",
        "INSERT INTO precious VALUES (1, 'ours') ON CONFLICT (id) DO UPDATE SET t = 'ours';",
        "DROP OWNED BY bench;",
        "ALTER SCHEMA elsewhere RENAME TO gone;",
        "ALTER SYSTEM SET fsync = off;",
        "ALTER ROLE bench SET synchronous_commit = off;",
        "ALTER DATABASE bakeoff SET synchronous_commit = off;",
        "COPY precious TO PROGRAM 'cat > /tmp/bakeoff-promise';",
        "DO $$ BEGIN DELETE FROM precious; END $$;",
        "SELECT \"set_config\"('synchronous_commit', 'off', false);",
        "UPDATE pg_settings SET setting = 'off' WHERE name = 'synchronous_commit';",
        "SELECT setval('a_precious_seq', 7);",
        "SELECT setval('a_x.precious_seq', 7);",
        "DROP INDEX precious_t;",
        "CREATE TABLE b (x INT) PARTITION BY RANGE (touch(x));",
    )
    _OWN = "('bakeoff_tables', 'usertable', 'sbtest1', 'sbtest2', 'a')"

    @contextmanager
    def _database(self, name: str) -> Iterator[Any]:
        with closing(PostgreSqlControl(self._system.control.login, name, where="")) as control:
            yield control.rows

    def plant(self) -> None:
        with self._database("bakeoff") as rows:
            rows("CREATE DATABASE elsewhere")
            rows("CREATE ROLE keeper")
            rows("ALTER ROLE keeper SET work_mem = '5MB'")
        for database in ("bakeoff", "elsewhere"):
            with self._database(database) as rows:
                rows("CREATE SCHEMA elsewhere")
                for schema in ("public", "elsewhere"):
                    rows(f"CREATE TABLE {schema}.precious (id INT PRIMARY KEY, t TEXT)")
                    rows(f"INSERT INTO {schema}.precious VALUES (1, 'one'), (2, 'two')")
                    rows(f"CREATE VIEW {schema}.seen AS SELECT t FROM {schema}.precious")
                    rows(f"CREATE SEQUENCE {schema}.precious_seq")
                    rows(f"CREATE INDEX precious_t ON {schema}.precious (t)")
                    # Names that a table `a` could have given.
                    rows(f"CREATE SEQUENCE {schema}.a_precious_seq")
                    rows(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA {schema} TO bench")
                    rows(f"GRANT ALL ON SCHEMA {schema} TO bench")
                    rows(f"GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO bench")
                rows("CREATE TABLE elsewhere.usertable (y INT)")
                rows("CREATE SCHEMA a_x")
                rows("CREATE SEQUENCE a_x.precious_seq")
                rows("GRANT ALL ON SCHEMA a_x TO bench")
                rows("GRANT ALL ON ALL SEQUENCES IN SCHEMA a_x TO bench")
                touched = "UPDATE precious SET t = 'ours' WHERE id = 1 RETURNING 1"
                rows(f"CREATE FUNCTION touch(int) RETURNS int IMMUTABLE LANGUAGE sql AS $$ {touched} $$")

    def everything(self) -> Dump:
        found: Dump = {}
        own = f"SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname IN {self._OWN}"
        for database in ("bakeoff", "elsewhere"):
            with self._database(database) as rows:
                tables = rows(
                    "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'S') AND relnamespace NOT IN"
                    f" (SELECT oid FROM pg_namespace WHERE nspname LIKE 'pg\\_%' OR nspname = 'information_schema')"
                    f" AND oid NOT IN ({own}) AND oid NOT IN (SELECT objid FROM pg_depend WHERE refobjid IN ({own}))"
                    " ORDER BY 1"
                )
                for (table,) in tables:
                    found[f"{database}: rows of {table}"] = rows(f"SELECT row(one.*)::text FROM {table} one ORDER BY 1")
                for catalog, columns, which in (
                    ("pg_namespace", "nspname, nspacl::text", "nspname NOT LIKE 'pg\\_t%'"),
                    ("pg_proc", "oid, proname", "true"),
                    ("pg_trigger", "tgname, tgrelid", "true"),
                    ("pg_db_role_setting", "setdatabase, setrole, setconfig::text", "true"),
                    ("pg_roles", "rolname, rolsuper, rolconfig::text", "true"),
                    ("pg_database", "datname, datacl::text", "true"),
                    (
                        "pg_class",
                        "relname, relkind, relowner, relacl::text",
                        # Nor what hangs on a table of ours: indexes, and where it keeps long values.
                        f"oid NOT IN ({own}) AND relkind IN ('r', 'v', 'S') AND oid NOT IN"
                        f" (SELECT objid FROM pg_depend WHERE refobjid IN ({own}))",
                    ),
                    ("pg_settings", "name, setting", "name NOT IN ('transaction_deferrable')"),
                ):
                    query = f"SELECT row({columns})::text FROM {catalog} WHERE {which} ORDER BY 1"
                    found[f"{database}: {catalog}"] = rows(query)
        return found


class _SqliteKept(Kept):
    hostile = (
        "ATTACH 'elsewhere.sqlite' AS elsewhere; INSERT INTO elsewhere.precious VALUES (7, 'ours');",
        "CREATE TABLE a (x INT); INSERT OR REPLACE INTO precious VALUES (1, 'ours');",
        "CREATE TABLE a (x INT); PRAGMA user_version = 7;",
        "CREATE TABLE a (x INT); DELETE FROM precious;",
    )

    def __init__(self, folder: Path) -> None:
        self._files = [folder / "mine.sqlite", folder / "elsewhere.sqlite"]

    def plan_lines(self) -> str:
        return f'kind = "sqlite"\nfile = "{self._files[0]}"'

    def plant(self) -> None:
        for file in self._files:
            with closing(sqlite3.connect(file)) as mine, mine:
                mine.execute("CREATE TABLE precious (id INTEGER PRIMARY KEY, t TEXT)")
                mine.execute("INSERT INTO precious VALUES (1, 'one'), (2, 'two')")
                mine.execute("CREATE VIEW seen AS SELECT t FROM precious")
                mine.execute("CREATE TRIGGER watch AFTER DELETE ON precious BEGIN SELECT 1; END")
                mine.execute("PRAGMA user_version = 3")

    def everything(self) -> Dump:
        found: Dump = {}
        for file in self._files:
            with closing(sqlite3.connect(file)) as mine:
                found[file.name] = list(mine.iterdump())
                for pragma in ("user_version", "application_id", "journal_mode", "auto_vacuum", "page_size"):
                    found[f"{file.name}: {pragma}"] = mine.execute(f"PRAGMA {pragma}").fetchall()
        own = ("bakeoff_tables", "usertable", "sbtest", '"a"', "TABLE a ", "a_x", "k_1", "k_2")
        name = self._files[0].name
        found[name] = [line for line in found[name] if not any(word in line for word in own)]
        return found


class _CassandraKept(_ServerKept):
    place = "keyspace"
    workloads = (YCSB,)
    _SCHEMA = ("keyspaces", "tables", "columns", "indexes", "types", "functions", "views", "triggers")

    def plant(self) -> None:
        one = "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
        self._rows(f"CREATE KEYSPACE elsewhere {one}")
        for keyspace in ("bakeoff", "elsewhere"):
            self._rows(f"CREATE TABLE {keyspace}.precious (k text PRIMARY KEY, v text)")
            self._rows(f"INSERT INTO {keyspace}.precious (k, v) VALUES ('one', 'two')")
        self._rows("CREATE TABLE elsewhere.usertable (k text PRIMARY KEY)")
        self._rows("CREATE ROLE keeper")

    def everything(self) -> Dump:
        found: Dump = {}
        for table in self._SCHEMA:
            rows = self._rows(f"SELECT JSON * FROM system_schema.{table}")
            own = ('"usertable"', '"bakeoff_tables"', '"bakeoff_claim"')
            ours = [row for row in map(str, rows) if '"bakeoff"' in row and any(name in row for name in own)]
            found[table] = sorted(row for row in map(str, rows) if row not in ours)
        for table in ("bakeoff.precious", "elsewhere.precious", "elsewhere.usertable"):
            found[table] = sorted(map(repr, self._rows(f"SELECT * FROM {table}")))
        for table in ("roles", "role_members", "role_permissions"):
            found[table] = sorted(map(repr, self._rows(f"SELECT * FROM system_auth.{table}")))
        found["settings"] = sorted(map(repr, self._rows("SELECT * FROM system_views.settings")))
        return found


class _RedisKept(_ServerKept):
    workloads = (YCSB,)
    place = "database"

    def plan_lines(self) -> str:
        return super().plan_lines().replace('database = "bakeoff"', "database = 0")

    def __init__(self, system: Any) -> None:
        super().__init__(system)
        self._login = system.server.bench_login("socket")

    def elsewhere(self, command: str, *words: str) -> list[tuple[Any, ...]]:
        """In another database."""
        with closing(RedisControl(self._login, 1, where="tests")) as control:
            return control.rows(command, *words)

    def plant(self) -> None:
        """Also what looks as if it were the plan's, and is not in its index."""
        for rows in (self._rows, self.elsewhere):
            rows("SET precious one")
            rows("HSET usertable:theirs FIELD0 x")
            rows("HSET usertables k v")
            rows("ZADD usertable/key 1 theirs")
        self.elsewhere("HSET usertable key YCSB_KEY")
        self._rows("ACL SETUSER keeper on >secret ~x +get")

    def everything(self) -> Dump:
        ours = {"bakeoff_tables", "usertable", "usertable/keys"}
        ours |= {f"usertable:{key}" for (key,) in self._rows("ZRANGE usertable/keys 0 -1")}
        found: Dump = {"accounts": self._rows("ACL LIST"), "settings": self._rows("CONFIG GET *")}
        for number, (rows, own) in enumerate(((self._rows, ours), (self.elsewhere, set[str]()))):
            keys = {str(key) for (key,) in rows("KEYS *")} - own
            found[f"database {number}"] = sorted((key, rows("DUMP", key)) for key in keys)
        return found


@contextmanager
def _server(kind: str, sources: Any, version: str | None, kept: Any, options: dict[str, Any]) -> Iterator[Kept]:
    if not sources.here():
        sources.install(version, None, lambda _: None)
    with running(kind, options) as system:
        yield kept(system)


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        *(pytest.param(kind, marks=pytest.mark.servers) for kind in ("mariadb", "postgresql", "redis")),
        *(pytest.param(kind, marks=[pytest.mark.servers, pytest.mark.slow]) for kind in ("mysql", "cassandra")),
    ],
)
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    kind = request.param
    if kind == "sqlite":
        theirs: Kept = _SqliteKept(tmp_path_factory.mktemp("theirs"))
        theirs.plant()
        yield theirs
        return
    small: dict[str, Any] = {"start": {"settings": {"innodb_buffer_pool_size": "32M"}}}
    sources, version, of, options = {
        "mariadb": (MARIADB, None, _MySqlKept, small),
        "mysql": (MYSQL, None, _MySqlKept, small),
        "postgresql": (POSTGRESQL, None, _PostgreSqlKept, {}),
        "redis": (REDIS, None, _RedisKept, {}),
        "cassandra": (CASSANDRA, "5.0", _CassandraKept, {"start": {"heap": "256MiB"}}),
    }[kind]
    with _server(kind, sources, version, of, options) as theirs:
        theirs.plant()
        yield theirs


def written(folder: Path, kept: Kept, workload: str, **files: str) -> Path:
    for name, text in {**FILES, **{f"{name}.sql": text for name, text in files.items()}}.items():
        (folder / name).write_text(text)
    return write_plan(folder, PLAN.format(system=kept.plan_lines(), workload=workload))


def differences(before: Dump, after: Dump) -> dict[str, Any]:
    return {
        name: (before.get(name), after.get(name))
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def test_nothing_but_the_plans_own_tables_is_changed(kept: Kept, tmp_path: Path) -> None:
    before = kept.everything()
    for number, workload in enumerate(kept.workloads):
        folder = tmp_path / str(number)
        folder.mkdir()
        plan = written(folder, kept, workload)
        for command in (("load",), ("run", "--set", 'measure.data="existing"'), ("drop", "--yes")):
            done = bakeoff(command[0], plan, *command[1:], cwd=folder, env=kept.environment())
            assert done.code == 0, done.out + done.err
            assert differences(before, kept.everything()) == {}, (workload, command)


def test_experiments_change_nothing_and_leave_nothing(kept: Kept, tmp_path: Path) -> None:
    if OWN not in kept.workloads:
        pytest.skip("it has no transactions in SQL")
    before = kept.everything()
    short = ("--tries", "1", "--schedule", "P4", "--seconds", "0.3", "--together", "--quiet")
    done = bakeoff("verify", written(tmp_path, kept, YCSB), *short, cwd=tmp_path, env=kept.environment())
    assert done.code == 0, done.out + done.err
    assert differences(before, kept.everything()) == {}


def test_hostile_statements_are_refused_before_anything_is_changed(kept: Kept, tmp_path: Path) -> None:
    before = kept.everything()
    for statement in kept.hostile:
        plan = written(tmp_path, kept, OWN, schema=f"{FILES['schema.sql']}\n{statement}")
        done = bakeoff("load", plan, cwd=tmp_path, env=kept.environment())
        assert done.code == 2, statement + done.out + done.err
        assert "schema.sql, line 2" in done.err, statement + done.err
    assert differences(before, kept.everything()) == {}


def test_a_negative_variable_leaves_the_rest_of_its_statement(kept: Kept, tmp_path: Path) -> None:
    """Written into the text (a name ends in a variable), `0 -:d` once began a comment that took the WHERE away."""
    if OWN not in kept.workloads:
        pytest.skip("one's own SQL does not run there")
    script = "\\set n 1\n\\set d -:n\nUPDATE sbtest:n SET x = 0 -:d WHERE id = 1;"
    checks = [
        """{ name = "one", equal = ["SELECT COUNT(*) FROM sbtest1 WHERE x = 1", "SELECT 1"], when = "after_run" }""",
        """{ name = "no other", empty = "SELECT id FROM sbtest1 WHERE x <> 0 AND id <> 1" }""",
    ]
    workload = f"""kind = "sql"
schema = "schema.sql"
scripts = ["script.sql"]
load = {{ sbtest1 = {{ rows = 100, columns = {{ id = "row", x = "0" }} }} }}
checks = [{", ".join(checks)}]"""
    schema = "CREATE TABLE sbtest1 (id INT NOT NULL PRIMARY KEY, x INT);"
    plan = written(tmp_path, kept, workload, schema=schema, script=script)
    for command in (("run",), ("drop", "--yes")):
        done = bakeoff(command[0], plan, *command[1:], cwd=tmp_path, env=kept.environment())
        assert done.code == 0, done.out + done.err


@pytest.mark.parametrize(
    "options",
    [
        "; DROP TABLE IF EXISTS elsewhere.usertable",
        "PARTITION BY HASH (id) PARTITIONS 2 AS SELECT id FROM precious FOR UPDATE",
        "PARTITION BY RANGE (touch(id))",
    ],
)
def test_options_of_a_table_are_no_second_statement(kept: Kept, tmp_path: Path, options: str) -> None:
    if SYSBENCH not in kept.workloads:
        pytest.skip("sysbench does not run there")
    before = kept.everything()
    evil = f'{SYSBENCH}\ncreate_table_options = "{options}"'
    done = bakeoff("load", written(tmp_path, kept, evil), cwd=tmp_path, env=kept.environment())
    assert done.code == 2, done.out + done.err
    assert "create_table_options" in done.err
    assert differences(before, kept.everything()) == {}


def test_a_difference_would_be_seen(kept: Kept) -> None:
    """What compares must be able to fail."""
    before = kept.everything()
    if isinstance(kept, _SqliteKept):
        with closing(sqlite3.connect(kept._files[1])) as elsewhere, elsewhere:
            elsewhere.execute("UPDATE precious SET t = 'other' WHERE id = 1")
    elif isinstance(kept, _PostgreSqlKept):
        with kept._database("elsewhere") as rows:
            rows("UPDATE elsewhere.precious SET t = 'other' WHERE id = 1")
    elif isinstance(kept, _MySqlKept):
        kept._rows("UPDATE elsewhere.precious SET t = 'other' WHERE id = 1")
    elif isinstance(kept, _RedisKept):
        kept.elsewhere("HSET usertable:theirs FIELD0 other")
    elif isinstance(kept, _CassandraKept):
        kept._rows("INSERT INTO elsewhere.precious (k, v) VALUES ('one', 'other')")
    assert len(differences(before, kept.everything())) == 1
