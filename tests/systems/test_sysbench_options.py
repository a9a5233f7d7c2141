"""Under every option that shapes them, tables are those of sysbench: the same definitions, the same distribution of k.
(That either runs on the other's tables: test_sysbench_tables.py.)"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bakeoff.fleet.engine_program import engine_path
from bakeoff.model.boundary import EVENT, CheckSpec, OperationsLimit, RunResult, RunSpec
from bakeoff.systems.mysql.mariadb import MariaDb
from bakeoff.workloads import workloads
from builders.workloads import decided

pytestmark = pytest.mark.servers

ROWS = 2_000
EVENTS = 200


@dataclass(frozen=True)
class Sysbench:
    """The real one."""

    program: str
    environment: dict[str, str]
    #: A file with the way to the server, the password included.
    config: Path

    def __call__(self, script: str, verb: str, **options: Any) -> str:
        # The tables of bulk_insert are one for each thread.
        said = {"threads": 2} if script == "bulk_insert" else {"threads": 2, "tables": 2, "table_size": ROWS, **options}
        words = [f"--{name.replace('_', '-')}={_switch(value)}" for name, value in said.items()]
        command = [self.program, f"--config-file={self.config}", script, *words, verb]
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=3600
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout


def _switch(value: Any) -> Any:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


@dataclass(frozen=True)
class Engine:
    """Ours, phase by phase on one server."""

    system: MariaDb
    folder: Path

    def __call__(self, phase: str, script: str = "oltp_read_write", **options: Any) -> RunResult:
        fields = {key: options.pop(key) for key in list(options) if key in RunSpec.model_fields}
        workload = decided("sysbench", {"script": script, "tables": 2, "table_size": ROWS, **options})
        driver, environment = self.system.engine_driver()
        document = RunSpec(phase=phase, driver=driver, workload=workload.spec, seed=7, threads=2, **fields)  # type: ignore[arg-type]
        assert workload.retry is not None
        document.retry = workload.retry
        path = self.folder / f"{phase}.json"
        path.write_text(document.model_dump_json())
        done = subprocess.run(
            [str(engine_path()), "--now", str(path)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=3600,
        )
        last = EVENT.validate_python(json.loads(done.stdout.splitlines()[-1]))
        assert isinstance(last, RunResult), f"{last}\n{done.stderr}"
        return last


@pytest.fixture
def sysbench(mariadb: MariaDb, sysbench_program: tuple[str, dict[str, str]], tmp_path: Path) -> Iterator[Sysbench]:
    config = tmp_path / "sysbench.cnf"
    server = mariadb.server
    config.touch(mode=0o600)
    config.write_text(
        f"mysql-host=127.0.0.1\nmysql-port={server.port}\nmysql-user=bench\nmysql-password={server.bench_password}\n"
        "mysql-db=bakeoff\n"
    )
    yield Sysbench(*sysbench_program, config)
    for row in mariadb.control.rows("SHOW TABLES IN bakeoff"):
        mariadb.control.rows(f"DROP TABLE bakeoff.`{row[0]}`")


@pytest.fixture
def engine(mariadb: MariaDb, tmp_path: Path) -> Engine:
    if "sysbench" not in workloads():
        pytest.fail("this engine was built without sysbench")
    return Engine(mariadb, tmp_path)


def definitions(mariadb: MariaDb) -> dict[str, list[str]]:
    """Of each table, its lines in any order; the next number it would give aside."""
    found = {}
    for (name,) in mariadb.control.rows("SHOW TABLES IN bakeoff"):
        text = str(mariadb.control.rows(f"SHOW CREATE TABLE bakeoff.{name}")[0][1])
        found[str(name)] = sorted(re.sub(r" AUTO_INCREMENT=\d+", "", text).replace(",\n", "\n").splitlines())
    return found


@pytest.mark.parametrize(
    ("script", "options"),
    [
        ("oltp_read_write", {}),
        ("oltp_read_write", {"auto_inc": False}),
        ("oltp_read_write", {"secondary": True}),
        ("oltp_read_write", {"create_secondary": False}),
        ("oltp_read_write", {"mysql_storage_engine": "myisam"}),
        ("bulk_insert", {}),
    ],
    ids=str,
)
def test_definitions_are_the_same(
    mariadb: MariaDb, sysbench: Sysbench, engine: Engine, script: str, options: dict[str, Any]
) -> None:
    sysbench(script, "prepare", **options)
    theirs = definitions(mariadb)
    engine("load", script, drop_existing=True, **options)
    assert definitions(mariadb) == theirs
    assert sorted(theirs) == ["sbtest1", "sbtest2"]


def test_an_index_made_before_the_rows_is_the_same_index(mariadb: MariaDb, sysbench: Sysbench, engine: Engine) -> None:
    sysbench("oltp_read_write", "prepare")
    theirs = definitions(mariadb)
    engine("load", drop_existing=True, compat="0.5")
    assert definitions(mariadb) == theirs


def test_rows_of_bulk_insert_are_all_there_afterwards(sysbench: Sysbench, engine: Engine) -> None:
    sysbench("bulk_insert", "prepare")
    ran = engine("run", "bulk_insert", limit=OperationsLimit(operations=EVENTS, max_s=3600))
    assert ran.error_ratio == 0, ran.errors
    assert ran.evidence["inserts_acknowledged"] == EVENTS
    expected = CheckSpec(evidence=[ran.evidence], sample=100, after_run=True)
    checks = engine("check", "bulk_insert", check=expected).checks
    assert checks
    assert [check for check in checks if not check.ok] == []


@pytest.mark.parametrize("rand_type", ["special", "uniform", "gaussian", "pareto"])
def test_k_is_distributed_as_by_sysbench(mariadb: MariaDb, sysbench: Sysbench, engine: Engine, rand_type: str) -> None:
    """By the share of rows in each tenth of the range and in its middle hundredth: two samples of 20,000 draws."""
    size = 10_000
    bands = [(i * size // 10, (i + 1) * size // 10) for i in range(10)] + [(size * 199 // 400, size * 201 // 400)]

    def shares() -> list[float]:
        columns = ", ".join(f"AVG(k > {low} AND k <= {high})" for low, high in bands)
        rows = "SELECT k FROM bakeoff.sbtest1 UNION ALL SELECT k FROM bakeoff.sbtest2"
        return [float(share) for share in mariadb.control.rows(f"SELECT {columns} FROM ({rows}) AS all_rows")[0]]

    sysbench("oltp_read_write", "prepare", table_size=size, rand_type=rand_type)
    theirs = shares()
    engine("load", drop_existing=True, table_size=size, rand_type=rand_type)
    # Six standard deviations of the difference of two shares of 20,000 draws are at most 0.03.
    assert shares() == pytest.approx(theirs, abs=0.03)
