"""Where a plan's data come from, what happens to them between runs, and who shares them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.errors import PlanError
from bakeoff.plan.read import resolve
from bakeoff.systems.mysql.family import FAMILY
from bakeoff.systems.mysql.settings import RUN_TIME
from builders.plans import MARIADB, OLD, SQLITE, read, refused

pytestmark = pytest.mark.usefixtures("mariadb_is_here")


@pytest.mark.parametrize(
    ("systems", "preset", "said", "outcome"),
    [
        (SQLITE, "a", "", "restore"),
        (SQLITE, "a", "reload", "reload"),
        (SQLITE, "c", "reuse", "reuse"),
        (SQLITE, "a", "reuse", "writes, so its data cannot be reused"),
        (OLD, "c", "", "reuse"),
        (OLD, "a", "", "the plan writes to old"),
        (OLD, "a", "reload", "reload"),
        (OLD, "a", "restore", "old is an existing system, whose data cannot be restored"),
        (OLD, "c", "reuse", "reuse"),
        ("[systems.null]", "a", "", "restore"),
        (SQLITE, "a", "none", "none"),
        (OLD, "a", "none", "none"),
        (SQLITE, "d", "none", "none"),
    ],
)
def test_reset_is_what_the_systems_allow(systems: str, preset: str, said: str, outcome: str) -> None:
    measure = f"reset = '{said}'" if said else ""
    try:
        got = read(systems=systems, workload=f"preset = '{preset}'", measure=measure).record.reset
    except PlanError as error:
        got = error.what
    assert outcome in got


FILE = "[systems.sqlite]\nfile = 'mine.sqlite'"


@pytest.mark.parametrize(
    ("systems", "preset", "said", "outcome"),
    [
        (OLD, "c", "", "reuse"),
        (FILE, "c", "", "reuse"),
        (OLD, "a", "none", "none"),
        (OLD, "a", "", "writes to existing data"),
        (OLD, "a", "reuse", "cannot be reused from run to run"),
        (OLD, "a", "reload", "existing data is never loaded or restored"),
        (FILE, "c", "restore", "existing data is never loaded or restored"),
        (SQLITE, "c", "", "sqlite is a managed server and has no data yet"),
        (f"{OLD}\n{MARIADB}", "c", "", "mariadb is a managed server and has no data yet"),
    ],
)
def test_data_that_exist_are_never_loaded_or_put_back(systems: str, preset: str, said: str, outcome: str) -> None:
    measure = "data = 'existing'" + (f"\nreset = '{said}'" if said else "")
    if outcome in ("reuse", "none"):
        plan = read(systems=systems, workload=f"preset = '{preset}'", measure=measure)
        assert plan.record.reset == outcome
        assert {cell.record.dataset[:9] for cell in plan.cells} == {"existing-"}
    else:
        error = refused(systems=systems, workload=f"preset = '{preset}'", measure=measure)
        assert outcome in error.what
        assert error.hint


def test_each_system_may_have_data_and_a_reset_of_its_own() -> None:
    theirs = f"{OLD}\ndata = 'existing'\nreset = 'none'"
    plan = read(systems=f"{MARIADB}\n{theirs}", workload="preset = 'a'")
    assert [(cell.record.system, cell.data, cell.reset) for cell in plan.cells] == [
        ("mariadb", "load", "restore"),
        ("old", "existing", "none"),
    ]
    assert plan.record.reset == "restore (mariadb), none (old)"
    assert any("different data, which cannot be compared" in words for words in plan.warnings)
    ours = read(systems=f"{MARIADB}\ndata = 'load'\n{OLD}", measure="data = 'existing'\nreset = 'reuse'")
    assert [(cell.data, cell.reset) for cell in ours.cells] == [("load", "reuse"), ("existing", "reuse")]


@pytest.mark.parametrize(
    ("systems", "measure", "what", "place"),
    [
        (f"{MARIADB}\ndata = 'existing'", "", "mariadb is a managed server", "[systems.mariadb] data"),
        (f"{MARIADB}\n{OLD}\nreset = 'restore'", "", "old is an existing system", "[systems.old] reset"),
        (
            f"{OLD}\ndata = 'existing'",
            "reset = 'reload'",
            "existing data is never loaded or restored",
            "[measure] reset",
        ),
        (
            f"{SQLITE}\nreset = 'none'\n{MARIADB}",
            "",
            "starts with the data that the last one left",
            "[systems.sqlite] reset",
        ),
        (f"{SQLITE}\n{MARIADB}\nreset = 'sometimes'", "", "cannot be the text", "[systems.mariadb] reset"),
    ],
)
def test_what_a_system_cannot_have_is_refused_where_it_is_said(
    systems: str, measure: str, what: str, place: str
) -> None:
    error = refused(systems=systems, workload="preset = 'a'", measure=measure)
    assert what in error.what
    assert place in error.where


def test_a_file_of_sqlite_that_stays_is_one_place() -> None:
    assert "exclude each other" in refused(systems=f"{FILE}\npath = 'folder'").what
    assert read(systems=FILE).cells[0].place == ("mine.sqlite",)
    assert "needs its own data in the same table as an earlier cell" in refused("records = [1, 2]", systems=FILE).what
    assert "restored" in refused(systems=FILE, measure="reset = 'restore'").what


def test_work_that_inserts_the_same_rows_in_every_run_cannot_go_on_where_another_ended() -> None:
    text = "title = 't'\n[systems.sqlite]\n[workload]\nkind = 'sysbench'\nscript = 'bulk_insert'\n"
    with pytest.raises(PlanError, match="inserts the same rows in every run") as caught:
        resolve(text + "[measure]\nreset = 'none'\n", Path("."))
    assert "reload" in caught.value.hint


def test_a_run_that_begins_where_another_ended_inserts_beyond_its_rows() -> None:
    work = read(workload="preset = 'd'\nrecords = 100", measure="reset = 'none'").cells[0].workload
    first, third = work.continued(0), work.continued(2)
    assert first
    assert third
    assert (first["insert_count"], third["insert_count"]) == (100, 100), "reads begin with the loaded rows"
    assert (first["records"], third["records"]) == (100, 100 + 2 * 10**11)
    reading = read(workload="preset = 'a'").cells[0].workload
    assert reading.continued(5) == reading.spec


def test_other_data_in_the_same_table_of_an_existing_server_cannot_be_reused() -> None:
    assert (
        "needs its own data in the same table as an earlier cell" in refused("records = [100, 200]", systems=OLD).what
    )


@pytest.mark.parametrize(
    ("systems", "said", "cache"),
    [
        (OLD, "data = 'existing'", "as-is"),
        (OLD, "data = 'existing'\ncache = 'warm'", "warm"),
        (OLD, "", "warm"),
        (SQLITE, "", "warm"),
        (f"{MARIADB}\n{OLD}\ndata = 'existing'", "", "as-is"),
    ],
)
def test_tables_that_exist_are_read_whole_only_where_the_plan_says_so(systems: str, said: str, cache: str) -> None:
    plan = read(systems=systems, workload="preset = 'c'", measure=said)
    assert plan.record.cache == cache
    assert any("caches are not warmed, on mariadb neither" in words for words in plan.warnings) == (MARIADB in systems)


def test_an_existing_server_cannot_be_made_cold() -> None:
    assert "is an existing system, whose cache cannot be emptied" in refused(systems=OLD, measure="cache = 'cold'").what


def test_the_data_are_shared_by_cells_that_ask_for_the_same_data_of_the_same_system() -> None:
    plan = read("threads = [1, 4]\npreset = ['a', 'c']\nrecords = [100, 200]", workload="")
    assert len({cell.load_key for cell in plan.cells}) == 2
    settings = read("'settings.page_size' = [4096, 8192]")
    assert len({cell.load_key for cell in settings.cells}) == 2
    assert len({cell.record.dataset for cell in settings.cells}) == 1


@pytest.mark.parametrize(
    ("systems", "factors", "loads"),
    [
        (SQLITE, "'settings.cache_size' = [100, 200]", 1),
        (SQLITE, "durability = ['full', 'relaxed']", 1),
        (SQLITE, "durability = ['full', 'none']", 2),  # a file remembers that it has a write-ahead log
        (MARIADB, "'settings.innodb_buffer_pool_size' = ['1G', '2G']", 1),
        (MARIADB, "'settings.Innodb-Buffer-Pool-Size' = ['1G', '2G']", 1),
        (MARIADB, "durability = ['full', 'relaxed', 'none']", 1),
        (MARIADB, "'session.sort_buffer_size' = [1, 2]\n'start.connect' = ['tcp', 'socket']", 1),
        (MARIADB, "version = ['10.6', '10.11']", 2),
        (MARIADB, "'settings.innodb_page_size' = ['8K', '16K']", 2),
        (MARIADB, "'session.default_storage_engine' = ['InnoDB', 'MyISAM']", 2),
        (MARIADB, "'settings.of_a_plugin' = [1, 2]", 2),
        ("[systems.null]", "'null.latency_ns' = [1, 2]", 2),
    ],
)
def test_settings_that_shape_no_stored_byte_share_one_load(systems: str, factors: str, loads: int) -> None:
    cells = read(factors, systems=systems, must_run=False).cells
    assert len({cell.load_key for cell in cells}) == loads
    assert len({cell.instance_key for cell in cells}) == len(cells)


@pytest.mark.parametrize(
    ("option", "levels", "compared"),
    [
        ("layout", '["line_items", "line_items_by_order"]', True),
        ("secondary_index", "[true, false]", True),
        ("orders", "[500, 499]", False),
        ("orders_seed", "[1, 2]", False),
    ],
)
def test_rows_stored_otherwise_are_loaded_apart_and_compared_and_other_rows_are_not(
    option: str, levels: str, compared: bool
) -> None:
    text = (
        f"title = 't'\n{SQLITE}\n[workload]\nkind = 'hatshop'\nlayout = 'line_items'\n[factors]\n{option} = {levels}\n"
        f"[compare]\nfactor = '{option}'\nbaseline = {levels[1:].split(',')[0]}\n"
    )
    plan = resolve(text.replace("layout = 'line_items'\n", "") if option == "layout" else text, Path("."))
    one, other = plan.cells
    assert one.load_key != other.load_key
    assert other.record.has_rows_of(one.record) == compared
    warned = any("have different data, which cannot be compared" in words for words in plan.warnings)
    assert warned != compared


def test_every_level_of_durability_of_the_mysql_family_is_made_of_settings_of_the_run() -> None:
    assert {name for level in FAMILY.durability.values() for name in level} <= RUN_TIME


def test_session_variables_vary_on_the_one_table_of_an_existing_server() -> None:
    assert len(read("'session.sort_buffer_size' = [1, 2]", systems=OLD).cells) == 2


def test_only_tables_that_bakeoff_made_are_said_to_be_dropped_before_each_run() -> None:
    (words,) = [
        w
        for w in read(systems=OLD, measure="reset = 'reload'").warnings
        if "are dropped and reloaded, if bakeoff created them" in w
    ]
    assert words.endswith("are dropped and reloaded, if bakeoff created them")
