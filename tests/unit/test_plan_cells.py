"""From factors to cells: what multiplies, what is refused, and what each cell is given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bakeoff.errors import BakeoffError, ServerError
from bakeoff.model.boundary import Closed, Open, OperationsLimit, TimeLimit
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.plans import MARIADB, OLD, SQLITE, read, refused

pytestmark = pytest.mark.usefixtures("mariadb_is_here")


def test_a_grid_multiplies_systems_and_levels_in_the_order_of_the_plan() -> None:
    plan = read("threads = [1, 4]\npreset = ['a', 'c']", systems=f"{SQLITE}\n{MARIADB}", workload="")
    labels = [cell.record.label for cell in plan.cells]
    assert len(labels) == 8
    assert labels[:3] == [
        "sqlite / threads=1 / preset=a",
        "sqlite / threads=1 / preset=c",
        "sqlite / threads=4 / preset=a",
    ]
    assert len({cell.record.id for cell in plan.cells}) == 8
    assert plan.record.factors == {"system": ["sqlite", "mariadb"], "threads": [1, 4], "preset": ["a", "c"]}


def test_runner_and_io_vary_on_one_loaded_data_set() -> None:
    plan = read("'mariadb.io' = ['io_uring', 'epoll']", systems=f"{SQLITE}\n{MARIADB}")
    assert [(c.record.system, c.runner, c.io) for c in plan.cells] == [
        ("sqlite", None, None),
        ("mariadb", None, "io_uring"),
        ("mariadb", None, "epoll"),
    ]
    assert len({cell.load_key for cell in plan.cells if cell.record.system == "mariadb"}) == 1


def test_the_event_log_varies_on_one_loaded_data_set_and_a_constant_one_is_the_same_cell() -> None:
    plan = read("event_log = [false, true]", systems=SQLITE)
    assert [cell.event_log for cell in plan.cells] == [False, True]
    assert len({cell.load_key for cell in plan.cells}) == 1
    for cell, said in zip(plan.cells, ("", "event_log = true"), strict=True):
        (alone,) = read(systems=SQLITE, measure=said).cells
        assert (alone.record.id, alone.event_log) == (cell.record.id, cell.event_log)


def test_a_runner_that_a_system_does_not_run_on_is_refused() -> None:
    assert "sqlite does not run on the runner reactor" in refused("runner = 'reactor'").what
    assert "`io` has no meaning on the runner thread" in refused("io = 'epoll'").what
    assert "'kqueue' is not a level of io" in refused("io = 'kqueue'").what


def test_a_runner_that_made_the_load_with_tls_is_refused_with_what_to_do() -> None:
    for option in ("", "tls = true", "client = 'wire'"):
        found = refused("runner = 'tokio'", systems=f"{MARIADB}\n{option}")
        assert "mysql does not run on the runner tokio" in found.what
        assert found.hint == "leave `runner` out: it runs on reactor"
    (cell,) = read("io = 'epoll'", systems=f"{MARIADB}\ntls = true").cells
    assert (cell.driver.runners, cell.io) == (["reactor"], "epoll")


def test_a_retry_by_the_systems_own_codes_reaches_the_cell() -> None:
    (cell,) = read(measure="retry = { retries = 3, on_codes = ['1213'] }").cells
    assert (cell.retry.retries, cell.retry.on, cell.retry.on_codes) == (3, [], ["1213"])


def test_a_factor_of_one_system_does_not_multiply_the_others() -> None:
    factors = "threads = [1, 4]\n'mariadb.settings.innodb_buffer_pool_size' = ['64M', '1G', '2G']"
    plan = read(factors, systems=f"{SQLITE}\n{MARIADB}")
    counts = [cell.record.system for cell in plan.cells]
    assert (counts.count("sqlite"), counts.count("mariadb")) == (2, 6)
    assert "mariadb.settings.innodb_buffer_pool_size" not in plan.cells[0].record.levels


def test_dotted_keys_mean_the_same_without_quotes() -> None:
    quoted = read("'mariadb.settings.innodb_io_capacity' = [100, 200]", systems=MARIADB)
    plain = read("mariadb.settings.innodb_io_capacity = [100, 200]", systems=MARIADB)
    assert quoted.record == plain.record


def test_settings_go_where_the_system_keeps_them() -> None:
    started = read("'settings.innodb_io_capacity' = [100, 200]", systems=MARIADB)
    assert [cell.system_options["start"]["settings"] for cell in started.cells] == [
        {"innodb_io_capacity": 100},
        {"innodb_io_capacity": 200},
    ]
    embedded = read("'settings.cache_size' = [-100, -200]")
    assert [cell.system_options["settings"]["cache_size"] for cell in embedded.cells] == [-100, -200]


def test_versions_and_paths_go_where_the_system_keeps_them() -> None:
    assert read("version = ['10.6', '10.11']", systems=MARIADB).cells[1].system_options == {
        "start": {"version": "10.11"}
    }
    assert read("path = ['x', 'y']").cells[1].system_options == {"path": "y"}


def test_one_level_needs_no_brackets_and_makes_no_axis() -> None:
    plan = read("threads = 4\ndurability = ['full']")
    assert plan.cells[0].threads == 4
    assert plan.cells[0].record.durability == "full"
    assert plan.cells[0].record.levels == {"system": "sqlite"}
    assert plan.cells[0].record.label == "sqlite"


def test_cells_can_be_listed_instead_of_multiplied() -> None:
    rest = "[[cells]]\nthreads = 4\nsessions = 4\n[[cells]]\nthreads = 64\nsessions = 8\n"
    plan = read(systems=MARIADB, rest=rest)
    assert [(cell.threads, cell.sessions) for cell in plan.cells] == [(4, 4), (64, 8)]
    assert plan.cells[1].record.levels == {"system": "mariadb", "threads": 64, "sessions": 8}


def test_a_listed_cell_may_name_its_system() -> None:
    rest = "[[cells]]\nsystem = 'mariadb'\nthreads = 4\n[[cells]]\nthreads = 1\n"
    plan = read(systems=f"{SQLITE}\n{MARIADB}", rest=rest)
    assert [cell.record.label for cell in plan.cells] == [
        "sqlite / threads=1",
        "mariadb / threads=4",
        "mariadb / threads=1",
    ]


def test_listed_levels_of_another_system_make_no_duplicates() -> None:
    rest = "[[cells]]\nthreads = 1\nmariadb.version = 'a'\n[[cells]]\nthreads = 1\nmariadb.version = 'b'\n"
    plan = read(systems=f"{SQLITE}\n{MARIADB}", rest=rest)
    assert [cell.record.system for cell in plan.cells] == ["sqlite", "mariadb", "mariadb"]


@pytest.mark.parametrize(
    ("factors", "parts", "what", "hint"),
    [
        ("thread = [1]", {}, "unknown factor `thread`", "did you mean `threads`?"),
        ("preset_ = ['a']", {"workload": ""}, "unknown factor `preset_`", "did you mean `preset`?"),
        ("window = ['1s']", {}, "`window` cannot be a factor", "`window` belongs in [measure]"),
        ("sqlit.settings.x = [1]", {}, "unknown system `sqlit`", "did you mean `sqlite`?"),
        ("sqlite.threads = [1]", {}, "`threads` cannot be a factor of a single system", "[[cells]]"),
        ("system = ['sqlite']", {}, "`system` is always a factor", "[systems.NAME]"),
        ("threads = [1, 2, 1]", {}, "`threads` has the level 1 twice", ""),
        ("rate = [5000, '5k/s']", {}, "`rate` has the level 5000.0 twice", ""),
        ("threads = [0]", {}, "`threads` must be from 1 to 100,000, not 0", ""),
        ("clients = [0]", {}, "`clients` must be from 1 to 1,000, not 0", ""),
        ("clients = [100_000]", {}, "`clients` must be from 1 to 1,000, not 100000", ""),
        ("threads = ['4']", {}, "`threads` counts: '4' is not a whole number", ""),
        ("durability = ['ful']", {}, "'ful' is not a level of durability", "did you mean `full`?"),
        ("rate = ['fast']", {}, '`rate`: "fast" is not a rate', "5000"),
        ("preset = ['a']", {}, "`preset` is set twice, as a factor and in [workload]", ""),
        ("threads = [1]\nsessions = [2]", {"systems": MARIADB}, "2 sessions for 1 threads", "[[cells]]"),
        ("threads = [4]\nsessions = [2]", {}, ": sqlite needs a session for each thread", "[[cells]]"),
        ("isolation = ['read-committed']", {}, "sqlite has no isolation level read-committed", "serializable"),
        (
            "rate = [5]",
            {"measure": "pacing = 'closed'"},
            "the plan has `rate`, but `pacing` is a closed loop",
            "poisson",
        ),
        (
            "rate = [5]",
            {"measure": "pacing = { rate = 7 }"},
            "the plan has `rate`, but `pacing` is a rate of its own",
            "poisson",
        ),
        ("threads = [8]", {"measure": "operations = 4"}, "4 operations per client for 8 threads", ""),
        ("threads = [1]", {"rest": "[[cells]]\nthreads = 4"}, "both [factors] and [[cells]]", ""),
        ("", {"rest": "[[cells]]\nthreads = 1\n[[cells]]\nthreads = 1"}, "cell 2 repeats an earlier one", ""),
        ("", {"rest": "[[cells]]\nthreads = 1\n[[cells]]\nclients = 1"}, "cell 1 has no `clients`", ""),
        ("", {"rest": "[[cells]]\nsystem = 'sqlit'"}, 'the unknown system "sqlit"', "sqlite"),
        ("", {"rest": "[[cells]]\nthread = 1"}, "unknown factor `thread`", "did you mean `threads`?"),
        ("durability = ['full']", {"systems": f"{SQLITE}\ndurability = 'none'"}, "`durability` is set twice", ""),
        (
            "'settings.a' = [1]\n'sqlite.settings.a' = [2]",
            {},
            "`sqlite.settings.a` and `settings.a` are the same thing for sqlite",
            "",
        ),
        (
            "'settings.cache_size' = [1]",
            {"systems": f"{SQLITE}\nsettings = {{ cache_size = 2 }}"},
            "`settings.cache_size` is set twice",
            "",
        ),
        (
            "'settings.x' = [1]",
            {"systems": OLD},
            "is an existing server, whose settings bakeoff does not change",
            "session",
        ),
        ("", {"systems": f"{SQLITE}\naddress = 'x:1'"}, "sqlite does not support `address`", ""),
        ("", {"systems": f"{SQLITE}\nsetings = {{}}"}, "unknown key", "settings"),
    ],
)
def test_what_cannot_be_run_is_refused(factors: str, parts: dict[str, str], what: str, hint: str) -> None:
    error = refused(factors, **parts)
    assert what in error.what
    assert hint in error.hint
    assert error.where


def test_more_cells_than_anyone_can_mean_are_refused_before_they_are_made() -> None:
    many = list(range(1, 500))
    assert "at most 10,000" in refused(f"threads = {many}\nclients = {many}\nworkers = {many}").what


def test_rates_are_of_all_clients_and_shared_between_them() -> None:
    plan = read("rate = ['1k/s', '2k/s']\nclients = 4", measure="pacing = { arrival = 'constant' }")
    assert plan.cells[0].pacing == Open(rate_ops_per_s=250, arrival="constant")
    assert [cell.record.rate_ops_per_s for cell in plan.cells] == [1000, 2000]
    assert plan.record.pacing == "open loop, the rate is a factor, constant arrivals"
    assert read(measure="pacing = { rate = 5000 }").record.pacing == "open loop, 5000/s, Poisson arrivals"


def test_a_rate_at_which_nothing_falls_due_in_the_window_is_refused() -> None:
    error = refused("rate = ['6/min']", measure="pacing = {}\nwindow = '9s'")
    assert "at 0.1/s no operation is due within 9 s" in error.what
    assert "at least 10 s" in error.hint
    assert read("rate = ['6/min']", measure="pacing = {}\nwindow = '10s'").cells


def test_operations_are_of_all_clients_and_shared_between_them() -> None:
    plan = read("clients = 3", measure="operations = 100\nwindow = '60s'")
    assert plan.cells[0].limit == OperationsLimit(operations=33, max_s=60)
    assert plan.record.operations == 99
    assert any("operations are not divisible by 3 clients; 99 run" in words for words in plan.warnings)


def test_defaults_are_a_closed_loop_of_thirty_seconds_five_times() -> None:
    plan = read()
    cell = plan.cells[0]
    assert (cell.pacing, cell.limit) == (Closed(), TimeLimit(window_s=30))
    assert (cell.threads, cell.clients, cell.workers, cell.sessions) == (1, 1, 0, None)
    assert (plan.record.repetitions, plan.warm_up_s, plan.timeout_s, plan.record.error_budget_ratio) == (
        5,
        10,
        10,
        0.001,
    )
    assert (plan.record.reset, plan.record.cache, plan.measure.latency_probe_rate_ops_per_s) == (
        "restore",
        "warm",
        None,
    )
    assert plan.record.pacing == "closed loop"


def test_what_is_compared_is_the_system_or_the_first_factor_that_varies() -> None:
    both = read("threads = [1, 4]", systems=f"{SQLITE}\n{MARIADB}").record
    assert (both.compare_factor, both.baseline) == ("system", "sqlite")
    one = read("threads = [1, 4]").record
    assert (one.compare_factor, one.baseline) == ("threads", 1)
    alone = read().record
    assert (alone.compare_factor, alone.baseline) == ("system", None)
    said = read("threads = [1, 4]", rest="[compare]\nfactor = 'threads'\nbaseline = 4").record
    assert (said.compare_factor, said.baseline) == ("threads", 4)


@pytest.mark.parametrize(
    ("factors", "compared"),
    [
        ("rate = [300, 900]\ndurability = ['full', 'none']", "durability"),
        ("threads = [1, 4]\nrecords = [100, 200, 400]", "records"),
        ("threads = [1, 4]\nrecords = [100, 200]", "threads"),
        ("preset = ['a', 'c']\nthreads = [1, 4]", "threads"),
        ("records = [100, 200, 400]\n'settings.cache_size' = [100, 200]", "settings.cache_size"),
        ("rate = [300, 900]\nthreads = [1, 4]", "rate"),
    ],
)
def test_a_factor_that_is_no_load_and_can_be_compared_comes_first(factors: str, compared: str) -> None:
    workload = "" if "preset" in factors else "preset = 'a'"
    assert read(factors, workload=workload).record.compare_factor == compared


def test_an_optional_system_that_cannot_run_is_left_out_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: "no mariadbd on the PATH"))
    systems = f"{MARIADB}\noptional = true\n{SQLITE}"
    plan = read("threads = [1, 4]", systems=systems, rest="[compare]\nbaseline = 'mariadb'")
    assert plan.skipped == {"mariadb": "no mariadbd on the PATH"}
    assert len(plan.cells) == 2
    assert {cell.record.system for cell in plan.cells} == {"sqlite"}
    assert plan.record.factors["system"] == ["sqlite"]


def test_a_system_that_must_run_and_cannot_ends_the_plan_but_not_the_dry_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: "no mariadbd on the PATH"))
    with pytest.raises(ServerError) as caught:
        read(systems=f"{MARIADB}\n{SQLITE}")
    assert "mariadb cannot run on this machine: no mariadbd on the PATH" in caught.value.what
    dry = read(systems=f"{MARIADB}\n{SQLITE}", must_run=False)
    assert len(dry.cells) == 2
    assert "mariadb cannot run on this machine: no mariadbd on the PATH" in dry.warnings


def test_a_plan_of_which_no_system_can_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MariaDb, "available", classmethod(lambda cls, options: "no mariadbd on the PATH"))
    with pytest.raises(BakeoffError) as caught:
        read(systems=f"{MARIADB}\noptional = true")
    assert "no system of the plan can run" in caught.value.what


def test_a_plan_never_starts_or_writes_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read(systems=f"{SQLITE}\npath = 'data'\n{MARIADB}")
    assert list(tmp_path.iterdir()) == []


def test_few_repetitions_and_a_rate_as_objective_of_an_open_loop_are_allowed_with_a_word() -> None:
    plan = read(measure="repetitions = 3\npacing = { rate = 5 }")
    assert any(
        "too few for a comparison: the answer has values only (a comparison needs 5)" in words
        for words in plan.warnings
    )
    assert any("latency_p99" in words for words in plan.warnings)


def test_systems_whose_writes_are_compared_without_a_durability_are_warned_of() -> None:
    def warned(systems: str, preset: str = "a", **more: str) -> list[str]:
        plan = read(systems=systems, workload=f"preset = '{preset}'", **more)
        return [words for words in plan.warnings if "durability" in words]

    both = f"{SQLITE}\n{MARIADB}"
    (words,) = warned(both)
    assert words.startswith("the plan has no `durability` for sqlite, mariadb, and systems that lose different writes")
    assert words.endswith('write durability = "full" or "relaxed" or "none"')
    assert not warned(both, preset="c")
    assert not warned(both, measure="durability = 'full'")
    assert not warned(f"{SQLITE}\n[systems.other]\nkind = 'sqlite'")
    (words,) = warned(f"{SQLITE}\n{MARIADB}\ndurability = 'full'")
    assert "for sqlite, and" in words


def test_listed_cells_that_no_other_differs_from_in_one_factor_are_warned_of() -> None:
    def listed(*pairs: tuple[int, int]) -> list[str]:
        cells = "\n".join(f"[[cells]]\nthreads = {threads}\nsessions = {sessions}" for threads, sessions in pairs)
        plan = read(systems=MARIADB, rest=f"{cells}\n[compare]\nfactor = 'threads'")
        return [words for words in plan.warnings if "compared" in words and "alone" in words]

    (words,) = listed((16, 16), (64, 8))
    assert words.startswith("no cell is compared: a pair may differ in `threads` alone.")
    (words,) = listed((16, 8), (64, 8), (64, 4))
    assert words.startswith("not mariadb / threads=64 / sessions=4 is compared")
    assert not listed((16, 8), (64, 8))


def test_comparing_over_a_factor_that_changes_the_data_is_warned_of() -> None:
    assert any("different data" in words for words in read("records = [100, 200]").warnings)
    threads = read("records = [100, 200]\nthreads = [1, 4]", rest="[compare]\nfactor = 'threads'")
    assert not any("different data" in words for words in threads.warnings)


def test_the_data_of_a_swept_size_are_what_is_asked_about() -> None:
    assert not any("different data" in words for words in read("records = [100, 200, 400]").warnings)


def test_client_and_server_on_the_same_core_are_warned_of() -> None:
    core = min(os.sched_getaffinity(0))
    together = read(measure=f"placement = {{ client = {core}, server = '{core}' }}")
    assert (together.measure.placement.client, together.measure.placement.server) == ([core], [core])
    assert any(f"share the cores {core}" in words for words in together.warnings)
    assert read(measure=f"placement = {{ client = [{core}] }}").record.placement == {"client": [core]}


def test_secrets_enter_the_record_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    plan = read(systems=f"{OLD}\nuser = 'u'\npassword = {{ env = 'DB_PASSWORD' }}")
    assert "hunter2" not in plan.record.model_dump_json()
    assert plan.record.resolved["systems"]["old"]["password"] == {"env": "DB_PASSWORD"}


def test_what_does_not_vary_of_a_load_may_be_in_measure() -> None:
    said = read(systems=MARIADB, measure="threads = 8\nsessions = 4\nio = 'epoll'")
    as_factor = read("threads = 8\nsessions = 4\nio = 'epoll'", systems=MARIADB)
    assert (said.cells[0].threads, said.cells[0].sessions, said.cells[0].io) == (8, 4, "epoll")
    assert [cell.record for cell in said.cells] == [cell.record for cell in as_factor.cells]
    assert said.record.factors == as_factor.record.factors


@pytest.mark.parametrize(
    ("factors", "measure", "what", "where"),
    [
        ("threads = [1, 2]", "threads = 8", "`threads` is set twice, as a factor and in [measure]", "threads"),
        ("'mariadb.io' = ['epoll']", "io = 'epoll'", "`io` is set twice", "[measure] io"),
        ("", "threads = 0", "`threads` must be from 1 to 100,000", "[measure] threads"),
        ("", "runner = 'fast'", "'fast' is not a level of runner", "[measure] runner"),
        ("event_log = [false, 1]", "", "`event_log` is true or false, not 1", "event_log"),
    ],
)
def test_a_load_parameter_in_measure_is_checked_as_a_factor_is(
    factors: str, measure: str, what: str, where: str
) -> None:
    error = refused(factors, systems=MARIADB, measure=measure)
    assert what in error.what
    assert where in error.where


@pytest.mark.parametrize(
    ("parts", "pacing"),
    [
        ({}, "closed"),
        ({"factors": "rate = [100, 200]"}, None),
        ({"measure": "rate = 100"}, None),
        ({"measure": "rate = 100\npacing = { arrival = 'constant' }"}, {"arrival": "constant"}),
        ({"measure": "pacing = { rate = 100 }"}, {"rate": 100.0, "arrival": "poisson"}),
    ],
)
def test_the_resolved_plan_of_an_open_loop_does_not_call_it_closed(parts: dict[str, str], pacing: object) -> None:
    assert read(**parts).record.resolved["measure"].get("pacing") == pacing
