"""sysbench's OLTP family in a plan: options, compat, what is retried, and the identity of its data."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.boundary import Retry
from bakeoff.plan.read import resolve as read_plan
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.systems import SYSTEMS
from bakeoff.workloads import WORKLOADS
from bakeoff.workloads.sysbench import (
    COMPAT,
    ELSEWHERE,
    OPTIONS,
    SCRIPT_WORDS,
    SysbenchSpec,
    SysbenchWorkload,
    resolve,
)
from bakeoff.workloads.sysbench_scripts import SCRIPTS

ROOT = Path(__file__).parents[2]


def sysbench(**options: Any) -> SysbenchWorkload:
    return resolve(options, ROOT)


def refused(**options: Any) -> PlanError:
    with pytest.raises(PlanError) as error:
        sysbench(**options)
    return error.value


def plan(systems: str = "[systems.sqlite]", measure: str = "", **options: str) -> ResolvedPlan:
    lines = "\n".join(f"{name} = {value}" for name, value in options.items())
    text = f"title = 't'\n{systems}\n[workload]\nkind = 'sysbench'\n{lines}\n[measure]\n{measure}\n"
    return read_plan(text, ROOT, must_run=False)


# ---- Held against the Rust side ----


def test_the_spec_has_the_fields_and_defaults_of_the_rust_type() -> None:
    source = (ROOT / "crates/model/src/run/sysbench.rs").read_text()
    struct = source.split("pub struct SysbenchSpec {")[1].split("\n}")[0]
    assert set(re.findall(r"pub (\w+):", struct)) == set(SysbenchSpec.model_fields) - {"kind"}
    defaults = source.split("impl Default for SysbenchSpec")[1].split("\n}")[0]
    rust = dict(re.findall(r"^\s+(\w+): (.+),$", defaults, re.MULTILINE))
    for name, value in sysbench().spec.items():
        if name != "kind":
            expected = rust[name].removesuffix(".into()").strip('"').replace("_000", "000").split("::")[-1]
            shown = re.sub(r"(?<!^)(?=[A-Z])", "_", expected).lower()
            assert str(value).lower() == shown, name


def test_the_scripts_are_those_of_the_engine() -> None:
    source = (ROOT / "crates/model/src/run/sysbench.rs").read_text()
    variants = re.findall(r"^    (\w+),$", source.split("pub enum SysbenchScript {")[1].split("\n}")[0], re.MULTILINE)
    assert [re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in variants] == list(SCRIPTS)
    assert [*SysbenchSpec.model_fields["script"].annotation.__args__] == list(SCRIPTS)  # type: ignore[union-attr]


# ---- Options ----


@pytest.mark.parametrize(
    ("script", "read", "write", "other"),
    [
        ("oltp_read_write", 14, 4, 2),
        ("oltp_read_only", 14, 0, 2),
        ("oltp_write_only", 0, 4, 2),
        ("oltp_point_select", 1, 0, 0),
        ("oltp_update_index", 0, 1, 0),
        ("oltp_update_non_index", 0, 1, 0),
        ("oltp_delete", 0, 1, 0),
        ("oltp_insert", 0, 1, 0),
        ("bulk_insert", 0, 1, 0),
        ("select_random_points", 1, 0, 0),
        ("select_random_ranges", 1, 0, 0),
    ],
)
def test_an_event_has_the_statements_of_the_original(script: str, read: int, write: int, other: int) -> None:
    workload = sysbench(script=script)
    found = workload.statements
    assert (found.read, found.write, found.other) == (read, write, other)
    assert workload.writes == (write > 0)


def test_counts_and_switches_change_the_statements() -> None:
    assert sysbench(range_selects=False).statements.read == 10
    assert sysbench(skip_trx=True).statements.other == 0
    assert sysbench(delete_inserts=3, index_updates=0).statements.write == 7
    read_only_in_effect = sysbench(index_updates=0, non_index_updates=0, delete_inserts=0)
    assert not read_only_in_effect.writes
    assert sysbench(script="oltp_point_select", point_selects=7).statements.read == 1


def test_compat_is_what_the_version_of_2012_did_and_options_go_before_it() -> None:
    spec = sysbench(compat="0.5").spec
    assert (spec["table_choice"], spec["db_ps_mode"], spec["index_time"]) == (
        "per_transaction",
        "disable",
        "before_rows",
    )
    assert sysbench(compat="0.5", db_ps_mode="auto").spec["db_ps_mode"] == "auto"
    assert sysbench(compat="1.0").spec == sysbench().spec
    assert refused(compat="0.4").hint == "did you mean `0.5`? It is one of: 1.0, 0.5"


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        ({"table-size": 5}, "unknown option `table-size` of sysbench", "did you mean `table_size`?"),
        ({"oltp_table_size": 5}, "unknown option `oltp_table_size` of sysbench", "did you mean `table_size`?"),
        ({"script": "oltp_read_writes"}, '`script` cannot be "oltp_read_writes"', "it is one of: oltp_read_write, "),
        ({"tables": 0}, "`tables` cannot be 0", "it must be greater than or equal to 1"),
        ({"tables": "16"}, '`tables` cannot be "16"', "it must be a valid integer"),
        ({"table_size": 2**31}, "`table_size` cannot be 2147483648", "it must be less than or equal to 2147483647"),
        ({"rand_type": "zipf"}, '`rand_type` cannot be "zipf"', "it is one of: uniform, gaussian, special"),
        ({"rand_spec_res": 100}, "`rand_spec_res` cannot be 100", "less than or equal to 99"),
        ({"rand_pareto_h": 1.0}, "`rand_pareto_h` cannot be 1.0", "less than 1"),
        ({"range_selects": "off"}, '`range_selects` cannot be "off"', "it must be a valid boolean"),
        ({"script": "oltp_update_index", "index_updates": 0}, "an event of `oltp_update_index` has no statement", ""),
        ({"mysql_ignore_errors": 1213}, "`mysql_ignore_errors` cannot be 1213", "list of the server's codes"),
        ({"mysql_ignore_errors": "off"}, '`mysql_ignore_errors` cannot be ["off"]', "[] for none"),
        ({"mysql_ignore_errors": [True]}, "`mysql_ignore_errors` cannot be [true]", "list of the server's codes"),
        ({"script": "select_random_points", "tables": 2}, "select_random_points asks one table only", "tables = 1"),
        ({"mysql_storage_engine": "innodb; x"}, '`mysql_storage_engine` cannot be "innodb; x"', "name of an engine"),
        ({"time": 60}, "`time` of sysbench has its place elsewhere in a plan", 'window = "10s" in [measure]'),
        ({"mysql_port": 3306}, "`mysql_port` of sysbench has its place elsewhere", "host:port"),
        ({"mysql_password": "x"}, "`mysql_password` of sysbench has its place elsewhere", "never the password itself"),
        ({"mysql-ssl": "on"}, "`mysql-ssl` of sysbench has its place elsewhere", "tls = true"),
        ({"mysql-host": "db1"}, "`mysql-host` of sysbench has its place elsewhere", "address"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(options: dict[str, Any], what: str, hint: str) -> None:
    error = refused(**options)
    assert what in error.what
    assert hint in error.hint


def test_the_label_tells_script_size_and_what_the_plan_sets() -> None:
    assert sysbench().label == "sysbench oltp_read_write (1 x 10000 rows)"
    workload = sysbench(script="oltp_read_only", tables=16, table_size=250_000, compat="0.5", rand_type="uniform")
    assert workload.label == "sysbench oltp_read_only (16 x 250000 rows, compat 0.5, rand_type uniform)"


def test_rows_and_bytes_are_estimated() -> None:
    workload = sysbench(tables=16, table_size=250_000)
    assert workload.loaded_rows == 4_000_000
    assert workload.size_estimate_bytes == 752_000_000
    assert sysbench(script="oltp_insert").loaded_rows == 10_000
    assert sysbench(script="oltp_insert", auto_inc=False).loaded_rows == 0
    assert sysbench(script="bulk_insert").loaded_rows == 0


# ---- Ignored errors are retries ----


@pytest.mark.parametrize(
    ("said", "codes"),
    [
        (None, ["1213", "1020", "1205"]),
        ([1213, 1062], ["1213", "1062"]),
        ("1213,1062", ["1213", "1062"]),
        ("all", ["all"]),
        ("SQLITE_BUSY", ["SQLITE_BUSY"]),
    ],
)
def test_ignored_errors_are_tried_again_without_end(said: Any, codes: list[str]) -> None:
    retry = sysbench(**({} if said is None else {"mysql_ignore_errors": said})).hints.retry
    assert retry == Retry(retries=2**32 - 1, on_codes=codes)


def test_no_ignored_errors_is_no_retry() -> None:
    assert sysbench(mysql_ignore_errors=[]).hints.retry == Retry()


def test_the_plans_own_retry_goes_before_the_workloads() -> None:
    (cell,) = plan().cells
    assert cell.retry.on_codes == ["1213", "1020", "1205"]
    (cell,) = plan(measure="retry = { retries = 2, on = ['conflict'] }").cells
    assert cell.retry == Retry(retries=2, on=["conflict"])


# ---- Identity of the data ----


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"script": "oltp_read_write"}, {"script": "oltp_point_select"}),
        ({"db_ps_mode": "auto"}, {"db_ps_mode": "disable"}),
        ({"table_choice": "per_group"}, {"table_choice": "per_transaction"}),
        ({"range_size": 100}, {"range_size": 5}),
        ({"mysql_ignore_errors": "all"}, {"skip_trx": True}),
        ({"rand_pareto_h": 0.2}, {"rand_pareto_h": 0.3}),
        ({"rand_type": "uniform", "rand_spec_pct": 1}, {"rand_type": "uniform", "rand_spec_pct": 5}),
    ],
)
def test_work_that_asks_differently_of_the_same_rows_shares_them(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert sysbench(**one).data_identity(1) == sysbench(**other).data_identity(1)


@pytest.mark.parametrize(
    "options",
    [
        {"tables": 2},
        {"table_size": 500},
        {"rand_type": "uniform"},
        {"rand_spec_pct": 5},
        {"auto_inc": False},
        {"secondary": True},
        {"create_secondary": False},
        {"mysql_storage_engine": "aria"},
        {"index_time": "before_rows"},
        {"script": "bulk_insert"},
        {"script": "oltp_insert", "auto_inc": False},
    ],
)
def test_other_rows_or_tables_have_another_identity(options: dict[str, Any]) -> None:
    assert sysbench(**options).data_identity(1) != sysbench().data_identity(1)
    assert sysbench().data_identity(1) != sysbench().data_identity(2)


# ---- In a plan ----


def test_cells_of_one_load_share_it_whatever_script_they_run() -> None:
    scripts = "[factors]\nscript = ['oltp_read_write', 'oltp_point_select']\n"
    text = f"title = 't'\n[systems.sqlite]\n[workload]\nkind = 'sysbench'\ntables = 4\n{scripts}"
    cells = read_plan(text, ROOT, must_run=False).cells
    assert [cell.record.levels["script"] for cell in cells] == ["oltp_read_write", "oltp_point_select"]
    assert len({cell.load_key for cell in cells}) == 1


def test_a_system_without_sql_is_refused_before_anything_starts() -> None:
    with pytest.raises(PlanError) as error:
        plan("[systems.null]")
    assert error.value.what == "null speaks no SQL, so it cannot be asked by sysbench"
    assert error.value.hint == "sysbench runs on mariadb, mysql, sqlite"
    assert "[systems.null]" in error.value.where
    assert plan("[systems.db]\nkind = 'mysql'\naddress = 'db1'", "reset = 'reload'").cells


def test_threads_that_fill_tables_of_their_own_need_as_many() -> None:
    assert plan(script="'bulk_insert'").cells
    with pytest.raises(PlanError, match="has 4 threads, each of which fills a table of its own, and 1 tables"):
        plan("[systems.sqlite]\n[factors]\nthreads = 4", script="'bulk_insert'")


def test_server_versions_stay_a_factor() -> None:
    assert "version" not in OPTIONS


def test_advice_is_given_where_the_original_surprises() -> None:
    assert any("puts no row back" in words for words in plan(script="'oltp_delete'").warnings)
    assert any("add 1062" in words for words in plan(skip_trx="true").warnings)
    assert not any("1062" in words for words in plan(skip_trx="true", mysql_ignore_errors="[1062]").warnings)
    mariadb = plan("[systems.mariadb]\nstart = true", skip_trx="true", secondary="true")
    assert any("store one id twice" in words for words in mariadb.warnings)


def test_the_kind_is_listed_with_its_scripts() -> None:
    kind = WORKLOADS["sysbench"]
    assert kind.presets == SCRIPT_WORDS
    assert kind.preset in kind.options
    assert {name for name, system in SYSTEMS.items() if system.capabilities().sql} == {"mariadb", "mysql", "sqlite"}


# ---- The reference page ----

PAGE = (ROOT / "docs/reference/workloads/sysbench.md").read_text()


def test_the_page_has_every_option_and_script_and_no_other() -> None:
    def first_column(heading: str) -> set[str]:
        section = PAGE.split(f"## {heading}\n", 1)[1].split("\n##", 1)[0]
        columns = re.findall(r"^\| ([^|]*) \|", section, flags=re.MULTILINE)
        return {name for column in columns for name in re.findall(r"`([^`]+)`", column)}

    assert first_column("Options") == set(OPTIONS)
    assert first_column("Scripts") == set(SCRIPTS)
    assert first_column("Options that are said elsewhere") == set(ELSEWHERE)
    assert all(f'compat = "{name}"' in PAGE or name == "1.0" for name in COMPAT)


def test_the_examples_of_the_page_can_be_resolved() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    for block in blocks:
        options = tomllib.loads(block)["workload"]
        assert options.pop("kind") == "sysbench"
        sysbench(**options)


# ---- The plans that come with bakeoff ----


@pytest.mark.parametrize(
    ("name", "size", "threads"),
    [
        ("mariadb-5.3-sysbench", 250_000, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
        ("mariadb-5.3-sysbench-scaled", 10_000, [1, 2, 4, 8, 16, 32, 64]),
    ],
)
def test_the_test_of_2012_asks_what_the_script_of_that_time_asked(name: str, size: int, threads: list[int]) -> None:
    path = ROOT / f"plans/articles/{name}.toml"
    found = read_plan(path.read_text(), path.parent, must_run=False)
    assert [cell.threads for cell in found.cells] == threads
    assert len({cell.load_key for cell in found.cells}) == 1
    spec = found.cells[0].workload.spec
    assert (spec["tables"], spec["table_size"]) == (16, size)
    assert (spec["table_choice"], spec["db_ps_mode"], spec["rand_type"]) == ("per_transaction", "disable", "special")
    workload = sysbench(**{name: value for name, value in spec.items() if name != "kind"})
    assert (workload.statements.read, workload.statements.write) == (14, 4)
    assert workload.loaded_rows == 16 * size
    assert found.cells[0].retry.on_codes == ["1213", "1020", "1205"]
