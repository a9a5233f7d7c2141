"""Several workloads in one plan: they multiply next to systems, and each keeps options of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.findings.contestants import Contest
from bakeoff.model.levels import work_of
from bakeoff.plan.dry_run.describe import describe
from bakeoff.plan.read import resolve
from bakeoff.plan.resolved import ResolvedPlan

SQLITE = "[systems.sqlite]"
MARIADB = "[systems.mariadb]\nstart = true"
READERS = "[workloads.readers]\nkind = 'ycsb'\npreset = 'c'"
SCRIPTS = "[workloads.scripts]\nkind = 'sysbench'"


def several(
    factors: str = "", rest: str = "", works: str = f"{READERS}\n{SCRIPTS}", systems: str = SQLITE
) -> ResolvedPlan:
    table = f"[factors]\n{factors}\n" if factors else ""
    return resolve(f"title = 't'\n{systems}\n{works}\n{table}{rest}", Path("."), must_run=False)


def refused_several(*parts: str, **more: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        several(*parts, **more)
    return caught.value


def test_workloads_multiply_with_systems() -> None:
    plan = several("threads = [1, 4]", systems=f"{SQLITE}\n{MARIADB}")
    assert [cell.record.label for cell in plan.cells[:5]] == [
        "sqlite / readers / threads=1",
        "sqlite / readers / threads=4",
        "sqlite / scripts / threads=1",
        "sqlite / scripts / threads=4",
        "mariadb / readers / threads=1",
    ]
    assert plan.cells[0].record.levels == {"system": "sqlite", "workload": "readers", "threads": 1}
    assert plan.cells[0].record.workload.startswith("YCSB C")
    assert plan.cells[2].record.workload.startswith("sysbench oltp_read_write")
    assert list(plan.record.factors) == ["system", "workload", "threads"]
    assert len({cell.load_key for cell in plan.cells}) == 4


def test_a_cell_is_what_it_is_whether_its_workload_has_a_name_or_not() -> None:
    named = several(works=READERS)
    one = several(works=READERS.replace("[workloads.readers]", "[workload]"))
    assert [cell.record.id for cell in named.cells] == [cell.record.id for cell in one.cells]
    assert (named.cells[0].record.label, named.cells[0].record.levels) == ("sqlite", {"system": "sqlite"})


def test_an_option_varies_in_the_workloads_that_have_it() -> None:
    plan = several("records = [10, 20]")
    assert [cell.record.label for cell in plan.cells] == [
        "sqlite / readers / records=10",
        "sqlite / readers / records=20",
        "sqlite / scripts",
    ]
    works = f"{READERS}\n{SCRIPTS}\n[workloads.writers]\nkind = 'ycsb'\npreset = 'a'"
    both = several("'writers.records' = [10, 20]\nfield_count = [1, 2]", works=works)
    works_of_cells = [cell.record.levels["workload"] for cell in both.cells]
    assert [works_of_cells.count(name) for name in ("readers", "scripts", "writers")] == [2, 1, 4]


def test_listed_cells_may_name_their_workload() -> None:
    rest = "[[cells]]\nworkload = 'readers'\nthreads = 1\nrecords = 10\n[[cells]]\nworkload = 'scripts'\nthreads = 4\n"
    cells = several(rest=rest).cells
    assert [cell.record.label for cell in cells] == ["sqlite / readers / threads=1", "sqlite / scripts / threads=4"]
    assert cells[0].workload.spec["records"] == 10
    assert "has no `records`" in refused_several(rest=f"{rest}[[cells]]\nthreads = 8\n").what
    assert 'the unknown workload "reader"' in refused_several(rest="[[cells]]\nworkload = 'reader'").what


@pytest.mark.parametrize(
    ("parts", "what", "where"),
    [
        ({"works": ""}, "the plan needs `workload`", ""),
        ({"works": f"[workload]\nrecords = 0\n{READERS}"}, "`records` cannot be 0", "line 4, [workload] records"),
        ({"works": f"[workload]\nscripts = 1\n{READERS}"}, "unknown option `scripts`", "line 4, [workload] scripts"),
        ({"works": "[workloads.sqlite]\nkind = 'ycsb'"}, '"sqlite" cannot be the name of a workload', "sqlite"),
        ({"works": "[workloads.x]\nkind = 'ycbs'"}, "unknown workload `ycbs`", "[workloads.x] kind"),
        ({"works": f"{READERS}\nrecords = 0"}, "`records` cannot be 0", "[workloads.readers] records"),
        ({"works": f"{READERS}\nthreads = 2"}, "unknown key `threads`", "[workloads.readers] threads"),
        ({"factors": "workload = ['readers']"}, "`workload` is always a factor", "[factors] workload"),
        ({"factors": "'readers.record' = [1]"}, "`record` is not an option of the workload `readers`", "[factors]"),
        ({"factors": "preset = ['a']"}, "`preset` is set twice, as a factor and in [workloads.readers]", "preset"),
        ({"factors": "records = [1]\n'readers.records' = [2]"}, "are the same thing", "[factors]"),
        ({"rest": "[compare]\nfactor = 'workload'"}, "workloads with different data cannot", "[compare] factor"),
        ({"systems": "[systems.null]"}, "sysbench needs SQL, which null does not offer", "null"),
    ],
)
def test_what_is_wrong_with_several_workloads_is_reported_with_its_place(
    parts: dict[str, str], what: str, where: str
) -> None:
    error = refused_several(**parts)
    assert what in error.what
    assert where in error.where


def test_workloads_are_not_what_is_compared() -> None:
    alone = several().record
    assert (alone.compare_factor, alone.baseline) == ("system", None)
    assert several("threads = [1, 4]").record.compare_factor == "threads"


def test_workloads_share_what_is_in_the_common_table() -> None:
    common = "[workload]\nkind = 'ycsb'\nrecords = 10\nfield_count = 2"
    works = f"{common}\n[workloads.readers]\npreset = 'c'\n[workloads.writers]\npreset = 'a'\nfield_count = 3"
    plan = several(works=works)
    assert [cell.record.label for cell in plan.cells] == ["sqlite / readers", "sqlite / writers"]
    assert [cell.workload.spec["field_count"] for cell in plan.cells] == [2, 3]
    assert {cell.workload.spec["records"] for cell in plan.cells} == {10}
    assert work_of(plan.record, plan.cells[0].record)["records"] == 10
    alone = several(works="[workload]\nkind = 'ycsb'\npreset = 'c'\nrecords = 10\nfield_count = 2")
    assert plan.cells[0].record.id == alone.cells[0].record.id


STATEMENTS = """
[workload]
kind = "sql"
schema = "schema.sql"
[workload.load.items]
rows = 100
columns = { id = "row", n = "random(1, 9)" }
[workloads.point]
scripts = "point.sql"
[workloads.mix]
scripts = ["point.sql", { file = "range.sql", weight = 3 }]
"""


def own_sql(folder: Path, rest: str = "", works: str = STATEMENTS) -> ResolvedPlan:
    (folder / "schema.sql").write_text("CREATE TABLE items (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);")
    (folder / "point.sql").write_text("SELECT n FROM items WHERE id = 1;")
    (folder / "range.sql").write_text("SELECT n FROM items WHERE id < 9;")
    return resolve(f"title = 't'\n{SQLITE}\n{works}\n{rest}", folder, must_run=False)


def test_statements_on_one_schema_share_its_data_and_can_be_compared(tmp_path: Path) -> None:
    plan = own_sql(tmp_path, "[compare]\nfactor = 'workload'\nbaseline = 'mix'")
    assert len({cell.load_key for cell in plan.cells}) == 1
    assert (plan.record.compare_factor, plan.record.baseline) == ("workload", "mix")
    contest = Contest(plan.record)
    assert contest.contestants == ["workload mix", "workload point"]
    (line,) = describe(plan, tmp_path).loads
    assert line.workload == "SQL point (scale 1) and 1 more on the same data"


def test_scripts_are_a_factor_by_their_files_and_lists_of_them_have_names(tmp_path: Path) -> None:
    works = STATEMENTS.partition("[workloads.point]")[0]
    plan = own_sql(tmp_path, "[factors]\nscripts = ['point.sql', 'range.sql']", works)
    assert plan.record.compare_factor == "scripts"
    assert len({cell.load_key for cell in plan.cells}) == 1
    with pytest.raises(PlanError) as caught:
        own_sql(tmp_path, "[factors]\nscripts = [['point.sql'], ['range.sql']]", works)
    assert "neither a list nor a table" in caught.value.what
    assert "[workloads.NAME]" in caught.value.hint


def test_an_option_that_takes_a_list_is_not_said_to_be_a_factor(tmp_path: Path) -> None:
    works = STATEMENTS.replace('"point.sql", {', '"point.sql", 7, {')
    with pytest.raises(PlanError) as caught:
        own_sql(tmp_path, works=works)
    assert "[factors]" not in caught.value.hint
