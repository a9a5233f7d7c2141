"""Data that other tools made are measured as they are: a graph of the original LinkBench, and tables of TPC-C under the
names and with the types that tools in the field give them."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from bakeoff.systems.mysql.mariadb import MariaDb
from commands import bakeoff, only_bundle, write_plan

MEASURE = """
[measure]
warm_up = 0
operations = 400
repetitions = 1
data = "existing"
reset = "none"
timeout = "10m"
"""
NODES, LINKS_OF_TYPE = 300, 3
LINKBENCH = f"""
[workload]
kind = "linkbench"
maxid1 = {NODES + 1}
compat = "original"
nlinks_func = {{ kind = "constant", links = 4 }}

[factors]
threads = 2
"""
#: As the original's README makes them.
GRAPH = [
    """CREATE TABLE linktable (
      id1 bigint(20) unsigned NOT NULL DEFAULT '0', id2 bigint(20) unsigned NOT NULL DEFAULT '0',
      link_type bigint(20) unsigned NOT NULL DEFAULT '0', visibility tinyint(3) NOT NULL DEFAULT '0',
      data varchar(255) NOT NULL DEFAULT '', time bigint(20) unsigned NOT NULL DEFAULT '0',
      version int(11) unsigned NOT NULL DEFAULT '0', PRIMARY KEY (link_type, id1, id2),
      KEY id1_type (id1, link_type, visibility, time, id2, version, data)
    ) ENGINE=InnoDB DEFAULT CHARSET=latin1 PARTITION BY KEY(id1) PARTITIONS 16""",
    """CREATE TABLE counttable (
      id bigint(20) unsigned NOT NULL DEFAULT '0', link_type bigint(20) unsigned NOT NULL DEFAULT '0',
      count int(10) unsigned NOT NULL DEFAULT '0', time bigint(20) unsigned NOT NULL DEFAULT '0',
      version bigint(20) unsigned NOT NULL DEFAULT '0', PRIMARY KEY (id, link_type)
    ) ENGINE=InnoDB DEFAULT CHARSET=latin1""",
    """CREATE TABLE nodetable (
      id bigint(20) unsigned NOT NULL AUTO_INCREMENT, type int(10) unsigned NOT NULL,
      version bigint(20) unsigned NOT NULL, time int(10) unsigned NOT NULL, data mediumtext NOT NULL, PRIMARY KEY (id)
    ) ENGINE=InnoDB DEFAULT CHARSET=latin1""",
]
#: Names and types of tpcc-mysql, which sysbench-tpcc has, too; columns are those of the specification.
TPCC = {
    "warehouse": """w_id smallint not null, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20),
        w_city varchar(20), w_state char(2), w_zip char(9), w_tax decimal(4,2), w_ytd decimal(12,2),
        primary key (w_id)""",
    "district": """d_id tinyint not null, d_w_id smallint not null, d_name varchar(10), d_street_1 varchar(20),
        d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9), d_tax decimal(4,2),
        d_ytd decimal(12,2), d_next_o_id int, primary key (d_w_id, d_id)""",
    "customer": """c_id int not null, c_d_id tinyint not null, c_w_id smallint not null, c_first varchar(16),
        c_middle char(2), c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20), c_city varchar(20),
        c_state char(2), c_zip char(9), c_phone char(16), c_since datetime, c_credit char(2), c_credit_lim bigint,
        c_discount decimal(4,2), c_balance decimal(12,2), c_ytd_payment decimal(12,2), c_payment_cnt smallint,
        c_delivery_cnt smallint, c_data text, primary key (c_w_id, c_d_id, c_id),
        key idx_customer (c_w_id, c_d_id, c_last, c_first)""",
    "history": """h_c_id int, h_c_d_id tinyint, h_c_w_id smallint, h_d_id tinyint, h_w_id smallint, h_date datetime,
        h_amount decimal(6,2), h_data varchar(24)""",
    "new_orders": """no_o_id int not null, no_d_id tinyint not null, no_w_id smallint not null,
        primary key (no_w_id, no_d_id, no_o_id)""",
    "orders": """o_id int not null, o_d_id tinyint not null, o_w_id smallint not null, o_c_id int, o_entry_d datetime,
        o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint, primary key (o_w_id, o_d_id, o_id),
        key idx_orders (o_w_id, o_d_id, o_c_id, o_id)""",
    "order_line": """ol_o_id int not null, ol_d_id tinyint not null, ol_w_id smallint not null,
        ol_number tinyint not null, ol_i_id int, ol_supply_w_id smallint, ol_delivery_d datetime, ol_quantity tinyint,
        ol_amount decimal(6,2), ol_dist_info char(24), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number)""",
    "item": """i_id int not null, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50),
        primary key (i_id)""",
    "stock": """s_i_id int not null, s_w_id smallint not null, s_quantity smallint, s_dist_01 char(24),
        s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24), s_dist_06 char(24),
        s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24), s_ytd decimal(8,0),
        s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50), primary key (s_w_id, s_i_id)""",
}


@pytest.fixture
def schema(mariadb: MariaDb) -> Iterator[MariaDb]:
    """A server whose schema is empty, before and after."""
    _empty(mariadb)
    yield mariadb
    _empty(mariadb)


def _empty(mariadb: MariaDb) -> None:
    for (name,) in mariadb.control.rows("SHOW TABLES IN bakeoff"):
        mariadb.control.rows(f"DROP TABLE bakeoff.`{name}`")


def _plan(mariadb: MariaDb, folder: Path, workload: str) -> tuple[Path, dict[str, str]]:
    driver, env = mariadb.engine_driver()
    said: dict[str, Any] = {
        "kind": '"mariadb"',
        "address": f'"{driver["endpoints"][0]["address"]}"',
        "user": f'"{driver["user"]}"',
        "password": f'{{ env = "{driver["password"]["env"]}" }}',
        "schema": f'"{driver["schema"]}"',
    }
    system = "\n".join(f"{key} = {value}" for key, value in said.items())
    return write_plan(folder, f'title = "of another tool"\n[systems.mine]\n{system}\n{workload}{MEASURE}'), env


def _load_graph(mariadb: MariaDb) -> None:
    """Rows as the original writes them: most payload as a hexadecimal literal, into columns of latin1 text."""
    rows = mariadb.control.rows
    for sql in GRAPH:
        rows(sql.replace("CREATE TABLE ", "CREATE TABLE bakeoff."))
    drawn = random.Random(1)

    def payload(most: int, first: int, last: int) -> str:
        return "x'" + bytes(drawn.randint(first, last) for _ in range(drawn.randint(0, most))).hex() + "'"

    nodes = [f"({id1}, 2048, 1, 1700000000, {payload(600, 50, 220)})" for id1 in range(1, NODES + 1)]
    kinds = [(id1, kind) for id1 in range(1, NODES + 1) for kind in (123456789, 123456790)]
    links = [
        f"({id1}, {id1 + number}, {kind}, 1, {payload(40, 32, 100)}, {1_700_000_000_000 + number}, 0)"
        for id1, kind in kinds
        for number in range(LINKS_OF_TYPE)
    ]
    counts = [f"({id1}, {kind}, {LINKS_OF_TYPE}, 1700000000002, 0)" for id1, kind in kinds]
    for table, values in (("nodetable", nodes), ("linktable", links), ("counttable", counts)):
        rows(f"INSERT INTO bakeoff.{table} VALUES {', '.join(values)}")


@pytest.mark.servers
def test_a_graph_of_the_original_linkbench_is_measured(schema: MariaDb, tmp_path: Path) -> None:
    _load_graph(schema)
    plan, env = _plan(schema, tmp_path, LINKBENCH)
    done = bakeoff("run", plan, "--together", "--allow-changes", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    assert run.ok == 400
    (sample,) = [check for check in run.checks if check.name == "sample of nodes"]
    assert "payload of links is not compared" in sample.expected
    schema.control.rows("UPDATE bakeoff.nodetable SET data = x'e9ff'")
    refused = bakeoff("run", plan, "--together", "--allow-changes", "--results", "second", cwd=tmp_path, env=env)
    assert refused.code == 2
    assert "payload has another shape" in refused.err


@pytest.mark.servers
def test_tables_of_tpcc_are_measured_under_another_tools_names_and_types(schema: MariaDb, tmp_path: Path) -> None:
    workload = '[workload]\nkind = "tpcc"\nmini = true\n'
    plan, env = _plan(schema, tmp_path, workload)
    assert bakeoff("load", plan, "--together", cwd=tmp_path, env=env).code == 0
    # A word of SQL among them: names are quoted.
    names = {table: f"{table}1" for table in TPCC} | {"orders": "order"}
    for table, columns in TPCC.items():
        schema.control.rows(f"CREATE TABLE bakeoff.`{names[table]}` ({columns}) ENGINE=InnoDB")
        listed = ", ".join(
            row[0]
            for row in schema.control.rows(
                "SELECT column_name FROM information_schema.columns"
                f" WHERE table_schema = 'bakeoff' AND table_name = '{table}'"
            )
        )
        schema.control.rows(f"INSERT INTO bakeoff.`{names[table]}` ({listed}) SELECT {listed} FROM bakeoff.{table}")
    assert bakeoff("drop", plan, "--yes", cwd=tmp_path, env=env).code == 0
    missing = bakeoff("run", plan, "--together", "--allow-changes", cwd=tmp_path, env=env)
    assert missing.code == 2
    assert 'tables = { item = "item1" }' in missing.err
    said = ", ".join(f'{table} = "{name}"' for table, name in names.items())
    plan, env = _plan(schema, tmp_path, f"{workload}tables = {{ {said} }}\n")
    done = bakeoff("run", plan, "--together", "--allow-changes", cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    (run,) = only_bundle(tmp_path).runs
    assert run.valid, run.validity
    assert all(check.ok for check in run.checks), run.checks
    assert run.ok == 400
    schema.control.rows("ALTER TABLE bakeoff.`order` DROP COLUMN o_all_local")
    lacking = bakeoff("run", plan, "--together", "--allow-changes", "--results", "second", cwd=tmp_path, env=env)
    assert lacking.code == 3, lacking.err
    assert "Unknown column 'o_all_local'" in lacking.err


def test_tables_of_tpcc_are_made_and_dropped_under_the_names_that_a_plan_gives(tmp_path: Path) -> None:
    workload = '[workload]\nkind = "tpcc"\nmini = true\ntables = { new_orders = "new_order", orders = "oorder" }\n'
    text = f'title = "names"\n[systems.mine]\nkind = "sqlite"\nfile = "mine.sqlite"\n{workload}{MEASURE}'
    plan = write_plan(tmp_path, text)
    loaded = bakeoff("load", plan, "--together", "--json", cwd=tmp_path)
    assert loaded.code == 0, loaded.err
    assert all(check["ok"] for load in json.loads(loaded.out)["loads"] for check in load["checks"])
    with closing(sqlite3.connect(tmp_path / "mine.sqlite")) as file:
        made = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"new_order", "oorder", "order_line"} <= made
    assert not {"new_orders", "orders"} & made
    assert bakeoff("run", plan, "--together", "--allow-changes", cwd=tmp_path).code == 0
    (run,) = only_bundle(tmp_path).runs
    assert all(check.ok for check in run.checks), run.checks
