"""sysbench's OLTP family in a plan: options, compat, what is retried, and the identity of its data."""

import re
import tomllib
from typing import Any

import pytest
from bakeoff.errors import PlanError
from bakeoff.model.boundary import Retry
from bakeoff.plan.read import resolve as read_plan
from bakeoff.plan.resolved import ResolvedPlan
from bakeoff.workloads import workloads
from bakeoff.workloads.base import Workload
from bakeoff.workloads.sysbench import ELSEWHERE
from builders.workloads import ROOT, decided
from builders.workloads import refused as refused_of

OPTIONS = workloads()["sysbench"].option_names
SCRIPTS = workloads()["sysbench"].presets


def sysbench(**options: Any) -> Workload:
    return decided("sysbench", options)


def refused(**options: Any) -> PlanError:
    return refused_of("sysbench", options)


def plan(systems: str = "[systems.sqlite]", measure: str = "", **options: str) -> ResolvedPlan:
    lines = "\n".join(f"{name} = {value}" for name, value in options.items())
    text = f"title = 't'\n{systems}\n[workload]\nkind = 'sysbench'\n{lines}\n[measure]\n{measure}\n"
    return read_plan(text, ROOT, must_run=False)


# ---- Options ----


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
        ({"table-size": 5}, "unknown option `table-size`", "did you mean `table_size`?"),
        ({"oltp_table_size": 5}, "unknown option `oltp_table_size`", "did you mean `table_size`?"),
        ({"script": "oltp_read_writes"}, '`script` cannot be "oltp_read_writes"', "It is one of: oltp_read_write, "),
        ({"tables": 0}, "`tables` cannot be 0", "it must be a whole number from 1 to 100000"),
        ({"tables": "16"}, '`tables` cannot be "16"', "it must be a whole number"),
        ({"table_size": 2**31}, "`table_size` cannot be 2147483648", "it must be a whole number from 1 to 2147483647"),
        ({"rand_type": "zipf"}, '`rand_type` cannot be "zipf"', "It is one of: uniform, gaussian, special"),
        ({"rand_spec_res": 100}, "`rand_spec_res` cannot be 100", "from 0 to 99"),
        ({"rand_pareto_h": 1.0}, "`rand_pareto_h` cannot be 1.0", "below 1"),
        ({"range_selects": "off"}, '`range_selects` cannot be "off"', "it must be true or false"),
        ({"script": "oltp_update_index", "index_updates": 0}, "an event of `oltp_update_index` has no statement", ""),
        ({"mysql_ignore_errors": 1213}, "`mysql_ignore_errors` cannot be 1213", "list of the server's codes"),
        ({"mysql_ignore_errors": "off"}, '`mysql_ignore_errors` cannot be "off"', "[] for none"),
        ({"mysql_ignore_errors": [True]}, "`mysql_ignore_errors` cannot be [true]", "list of the server's codes"),
        ({"script": "select_random_points", "tables": 2}, "select_random_points asks one table only", "tables = 1"),
        ({"mysql_storage_engine": "innodb; x"}, '`mysql_storage_engine` cannot be "innodb; x"', "name of an engine"),
        ({"time": 60}, "`time` of sysbench belongs elsewhere in a plan", 'window = "10s" in [measure]'),
        ({"mysql_port": 3306}, "`mysql_port` of sysbench belongs elsewhere", "host:port"),
        ({"mysql-ssl": "on"}, "`mysql-ssl` of sysbench belongs elsewhere", "tls = true"),
        ({"mysql-host": "db1"}, "`mysql-host` of sysbench belongs elsewhere", "address"),
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


# ---- Ignored errors are retries ----


def test_no_ignored_errors_is_no_retry() -> None:
    assert sysbench(mysql_ignore_errors=[]).retry == Retry()


def test_the_plans_own_retry_goes_before_the_workloads() -> None:
    (cell,) = plan().cells
    assert cell.retry.on_codes == ["1213", "1020", "1205", "40P01", "23505", "40001"]
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
    assert sysbench(**one).dataset == sysbench(**other).dataset


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
        {"create_table_options": "ROW_FORMAT=COMPRESSED"},
        {"index_time": "before_rows"},
        {"script": "bulk_insert"},
        {"script": "oltp_insert", "auto_inc": False},
    ],
)
def test_other_rows_or_tables_have_another_identity(options: dict[str, Any]) -> None:
    assert sysbench(**options).dataset != sysbench().dataset
    assert sysbench().dataset != decided("sysbench", {}, seed=2).dataset


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
    assert "sysbench needs SQL, which null does not offer" in error.value.what
    assert error.value.hint == "sysbench runs with the drivers sqlite, mysql, postgresql, duckdb, avatica"
    assert plan("[systems.db]\nkind = 'mysql'\naddress = 'db1'", "reset = 'reload'").cells


def test_threads_that_fill_tables_of_their_own_need_as_many() -> None:
    assert plan(script="'bulk_insert'").cells
    with pytest.raises(PlanError, match="each of which needs a table of its own, and the data has enough for 1"):
        plan("[systems.sqlite]\n[factors]\nthreads = 4", script="'bulk_insert'")


def test_server_versions_stay_a_factor() -> None:
    assert "version" not in OPTIONS


def test_advice_is_given_where_the_original_surprises() -> None:
    assert any("puts no row back" in words for words in plan(script="'oltp_delete'").warnings)
    assert any("add 1062" in words for words in plan(skip_trx="true").warnings)
    assert not any("1062" in words for words in plan(skip_trx="true", mysql_ignore_errors="[1062]").warnings)
    mariadb = plan("[systems.mariadb]\nstart = true", skip_trx="true", secondary="true")
    assert any("store one id twice" in words for words in mariadb.warnings)


# ---- The reference page ----

PAGE = (ROOT / "docs/reference/workloads/sysbench.md").read_text()


def test_the_page_has_every_option_and_script_and_no_other() -> None:
    def first_column(heading: str) -> set[str]:
        section = PAGE.split(f"## {heading}\n", 1)[1].split("\n##", 1)[0]
        columns = re.findall(r"^\| ([^|]*) \|", section, flags=re.MULTILINE)
        return {name for column in columns for name in re.findall(r"`([^`]+)`", column)}

    assert first_column("Options") == set(OPTIONS)
    assert first_column("Scripts") == set(SCRIPTS)
    assert first_column("Options set elsewhere") == set(ELSEWHERE)


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
    [("sysbench-full", 250_000, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]), ("sysbench-small", 10_000, [1, 8, 64])],
)
def test_the_test_of_2012_asks_what_the_script_of_that_time_asked(name: str, size: int, threads: list[int]) -> None:
    path = ROOT / f"plans/articles/mariadb-5.3/{name}.toml"
    found = read_plan(path.read_text(), path.parent, must_run=False)
    systems = {cell.record.system for cell in found.cells}
    assert {cell.threads for cell in found.cells} == set(threads)
    assert len(found.cells) == len(systems) * len(threads)
    assert len({cell.load_key for cell in found.cells}) == len(systems)
    spec = found.cells[0].workload.spec
    assert (spec["tables"], spec["table_size"]) == (16, size)
    assert (spec["table_choice"], spec["db_ps_mode"], spec["rand_type"]) == ("per_transaction", "disable", "special")
    assert found.cells[0].workload.loaded_rows == 16 * size
    assert found.cells[0].retry.on_codes == ["1213", "1020", "1205", "40P01", "23505", "40001"]


def test_statements_are_sent_together_under_tls_too() -> None:
    text = (
        "title = 't'\n[systems.pg]\nkind = 'postgresql'\nstart = true\ntls = true\n"
        "[workload]\nkind = 'sysbench'\npipeline = true\n"
    )
    assert read_plan(text, ROOT, must_run=False).cells
    with pytest.raises(PlanError) as refused:
        read_plan(
            "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'sysbench'\npipeline = true\n", ROOT, must_run=False
        )
    assert "which sqlite does not offer" in refused.value.what
