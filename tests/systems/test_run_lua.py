"""Scripts for sysbench in our engine, from a plan to the report: on SQLite and on real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.model.records.run import RunRecord
from commands import bakeoff, on_systems, only_bundle, write_plan

SCRIPTS = Path(__file__).parent / "lua"
SQLITE = '[systems.db]\nkind = "sqlite"\ndurability = "none"\n'
PLAN = """
title = "transfers"
{system}
[workload]
kind = "lua"
script = "{scripts}/transfer.lua"
options = {{ {options} }}
script_threads = 3
check = "check"

[factors]
threads = 4

[measure]
warm_up = "100ms"
operations = 400
timeout = "10m"
repetitions = 1
"""


def transfers(folder: Path, system: str, options: str = "tables = 2", **more: str) -> Path:
    text = PLAN.format(system=system, scripts=SCRIPTS, options=options)
    for before, after in more.items():
        text = text.replace(before, after)
    return write_plan(folder, text)


def only_run(folder: Path) -> RunRecord:
    (run,) = only_bundle(folder).runs
    return run


@on_systems("sqlite", "mariadb", slow=["postgresql"])
def test_a_script_is_loaded_run_and_checked(tmp_path: Path, db: str) -> None:
    done = bakeoff("run", transfers(tmp_path, db), cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    run = only_run(tmp_path)
    assert run.valid, run.validity
    assert run.ok == 400
    (check,) = run.checks
    assert check.ok, check
    assert check.evidence == ["Check of accounts1: PASSED", "Check of accounts2: PASSED"]
    attempts = run.queries.read
    assert attempts >= 400, "a select for each event"
    assert run.queries.write == 2 * attempts
    assert run.queries.other >= 2 * attempts, "begin and commit"


def test_an_error_of_the_script_is_a_failed_operation_and_rolled_back(tmp_path: Path) -> None:
    plan = transfers(tmp_path, SQLITE, "fail_every = 10", **{"threads = 4": "threads = 1"})
    done = bakeoff("run", plan, cwd=tmp_path)
    assert "a planted error" in done.out + done.err
    run = only_run(tmp_path)
    assert (run.ok, run.failures) == (360, 40)
    assert all(check.ok for check in run.checks), "half a transfer is undone"


def test_a_check_that_fails_makes_the_run_invalid(tmp_path: Path) -> None:
    folder = tmp_path / "scripts"
    folder.mkdir()
    for source in SCRIPTS.iterdir():
        (folder / source.name).write_text(source.read_text().replace("move(t, 1, other)", "move(t, 2, other)"))
    text = PLAN.format(system=SQLITE, scripts=folder, options="tables = 2")
    done = bakeoff("run", write_plan(tmp_path, text), cwd=tmp_path)
    run = only_run(tmp_path)
    assert not run.valid
    assert "FAILED with" in run.checks[0].actual
    assert done.code != 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"options = { tables = 2 }": "options = { tabels = 2 }"}, "the script has no option `tabels`"),
        ({"options = { tables = 2 }": 'options = { tables = "two" }'}, "`tables` of the script cannot be"),
        ({"transfer.lua": "nowhere.lua"}, "the workload file cannot be read"),
        ({"transfer.lua": "accounts_common.lua"}, "the script has no function `event`"),
        ({"options = {": "options = { mysql_host = 1,"}, "belongs elsewhere in a plan"),
        ({'check = "check"': 'check = "check"\ncreates = ["a b"]'}, "`a b` is no name of a table"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(tmp_path: Path, change: dict[str, str], said: str) -> None:
    done = bakeoff("run", transfers(tmp_path, SQLITE, **change), "--dry-run", cwd=tmp_path)
    assert done.code == 2, done.out + done.err
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("function event( end", "broken.lua:1"),
        ('local f = io.open("/etc/passwd")\nfunction event() end', "broken.lua:1"),
        ('os.execute("touch here")\nfunction event() end', "a script may not start programs"),
        (
            "string.byte = function() return 0 end\n"
            'assert(loadstring(string.dump(function() end)), "no bytecode")\nfunction event() end',
            "no bytecode",
        ),
        ("coroutine.wrap(print)()\nfunction event() end", "a script has no coroutines of its own: coroutine.wrap"),
        ('require("nowhere")\nfunction event() end', "there is no file nowhere.lua"),
        ("function event() end", "the script has no function `prepare`"),
        ("function event() end\nfunction prepare() error('planted') end", "planted"),
    ],
)
def test_a_script_that_cannot_run_is_refused_with_its_place(tmp_path: Path, script: str, said: str) -> None:
    (tmp_path / "broken.lua").write_text(script)
    plan = transfers(tmp_path, SQLITE, "", **{f"{SCRIPTS}/transfer.lua": "broken.lua"})
    done = bakeoff("run", plan, "--dry-run", cwd=tmp_path)
    assert done.code == 2, done.out + done.err
    assert said in done.err
    assert not (tmp_path / "here").exists()
