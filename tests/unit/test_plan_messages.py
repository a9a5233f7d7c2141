"""Whatever is wrong with a plan gets one sentence: what, where, and what to write instead."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from bakeoff.errors import ExitCode, PlanError
from bakeoff.plan.document.read import override
from bakeoff.plan.read import read_plan, resolve
from bakeoff.systems.options import Password


def refused(text: str, *, must_run: bool = True) -> PlanError:
    """must_run: what the plan asks for is here."""
    with pytest.raises(PlanError) as caught:
        resolve(text, Path("."), must_run=must_run)
    error = caught.value
    assert "\n" not in error.what
    assert error.exit_code == ExitCode.USAGE
    return error


def plan(measure: str = "", *, systems: str = "[systems.sqlite]", workload: str = "", rest: str = "") -> str:
    return f'title = "t"\n{systems}\n[workload]\nkind = "ycsb"\n{workload}\n[measure]\n{measure}\n{rest}\n'


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        (plan("warmup = '1s'"), "unknown key `warmup`", "did you mean `warm_up`?"),
        (plan("duration = '1s'"), "unknown key `duration`", "did you mean `window`?"),
        ("runtime = '1s'\n" + plan(), "unknown key `runtime`", "`window` belongs in [measure]"),
        (plan("runs = 3"), "unknown key `runs`", "did you mean `repetitions`?"),
        (
            plan("pacing = { stages = [{ rate = 5, duration = '1s' }] }"),
            "unknown key `duration`",
            "did you mean `for`?",
        ),
        (plan("users = 3"), "unknown key `users`", "did you mean `threads`?"),
        (plan("repetition = 5"), "unknown key `repetition`", "did you mean `repetitions`?"),
        ("window = '1s'\n" + plan(), "unknown key `window`", "`window` belongs in [measure]"),
        (plan("title = 'x'"), "unknown key `title`", "`title` belongs at the top of the plan"),
        (plan("backoff = '1s'"), "unknown key `backoff`", "`backoff` belongs in [measure.retry]"),
        (plan("pacing = { rat = 5 }"), "unknown key `rat`", "did you mean `rate`?"),
        (plan(systems="[systems.sqlite]\nresett = 'none'"), "unknown key `resett`", "did you mean `reset`?"),
        (plan(systems="[systems.mariadb]\ndatta = 'load'"), "unknown key `datta`", "did you mean `data`?"),
        (plan("retry = { retires = 5 }"), "unknown key `retires`", "did you mean `retries`?"),
        ("records = 5\n" + plan(), "unknown key `records`", "`records` belongs in [workload], or in [factors]"),
        ("thread = 5\n" + plan(), "unknown key `thread`", "did you mean `threads`?"),
        ('title = "t"\n[system.sqlite]\n', "unknown key `system`", "did you mean `systems`?"),
        (plan(systems="[systems.sqlite]\nstart = {}"), "sqlite runs inside the client", "leave out `start`"),
        (plan(systems="[systems.mariadb]\nimagee = 'x'"), "unknown key `imagee`", "did you mean `image`?"),
        (plan(systems="[systems.mariadb]\nsync_binlog = 1"), "unknown key", "belong in settings = { sync_binlog = ..."),
        (plan(systems="[systems.percona]"), "unknown kind of system `percona`", 'write kind = "mysql"'),
        (
            plan(systems="[systems.sqlite]\nsettings = { cach_size = 5 }"),
            "SQLite has no pragma `cach_size`",
            "did you mean `cache_size`?",
        ),
        (plan(systems="[systems.mariadb]\nport = 3306"), "`port` is set without", 'address = "host:port"'),
        (plan(systems="[systems.mariadb]\nversion = 10.11"), "must be a text in quotes", "in double quotes"),
        (plan(workload="preset = ['a', 'c']"), "`preset` cannot be", "to vary it, write `preset` in [factors]"),
        (
            "workload = 'ycsb'\n[systems.sqlite]\n",
            "`workload` must be a table",
            'a table [workload] with kind = "ycsb"',
        ),
        (plan().replace('"ycsb"', '"ycsb-b"'), "unknown workload `ycsb-b`", 'kind = "ycsb" and preset = "b"'),
        ("sed = 1\n" + plan(), "unknown key `sed`", "did you mean `seed`?"),
        (plan(rest="[mesure]\nwindow = '1s'"), "unknown key `mesure`", "did you mean `measure`?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(text: str, what: str, hint: str) -> None:
    error = refused(text, must_run=False)
    assert what in error.what
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (plan("window = 10"), "`window`: a duration needs a unit: 10 may be seconds or milliseconds"),
        (plan("window = '10 sec'"), '`window`: "sec" is not a unit in the duration "10 sec"'),
        (plan("window = '999ms'"), "`window` is too short: 0.999 s"),
        (plan("error_budget = '5 percent'"), '`error_budget`: "percent" is not a unit'),
        (plan("repetitions = 'five'"), '`repetitions` must be a whole number, not the text "five"'),
        (plan("repetitions = '5'"), '`repetitions` must be a whole number, not the text "5"'),
        (plan("repetitions = 0"), "`repetitions` is 0, and must be at least 1"),
        (plan("vary_seed = 'yes'"), '`vary_seed` must be true or false, not the text "yes"'),
        (plan("retry = 3"), "`retry` must be a table, not a number"),
        (plan("retry = { retries = 3 }"), "`retry`: `retries` needs `on`"),
        (plan("reset = 'restor'"), '`reset` cannot be the text "restor"'),
        (plan("pacing = 'open'"), "`pacing`: 'open' is not a kind of pacing"),
        (plan("pacing = 3"), "`pacing`: 3 is not a kind of pacing"),
        (plan(systems="[systems.mariadb]\naddress = ['a', 'b']"), "`address`: an address must be a text"),
        (plan("pacing = { arrival = 'poisson' }"), "an open loop needs a rate"),
        (plan("pacing = { rate = 0 }"), "`rate`: a rate is above 0"),
        (plan("pacing = { rate = 1e300 }"), "`rate`: a rate is above 0 and at most 1e9 per second, and 1e+300 is not"),
        (
            plan("latency_probe = 2e9"),
            "`latency_probe`: a rate is above 0 and at most 1e9 per second, and 2e+09 is not",
        ),
        (
            plan("operations = 1_000_000_000_000_000_000_000"),
            "`operations` is 1000000000000000000000, and must be at most",
        ),
        (
            plan("retry = { retries = 30_000_000_000, on = ['conflict'] }"),
            "`retries` is 30000000000, and must be at most",
        ),
        (plan("window = '99999999h'"), '`window`: "99999999h" is longer than a year'),
        (plan(f"window = {'[' * 5000}{']' * 5000}"), "the plan nests too deeply"),
        (plan(systems="[systems.sqlite]\ndurabilty = 'full'"), "unknown key `durabilty`"),
        (plan("placement = { client = 'a' }"), "`client`: 'a' is not a list of cores"),
        (plan("placement = { client = '4095' }"), "this machine has no core 4095"),
        (plan(systems="[systems]"), "`systems` is empty"),
        (plan(systems="[systems.sqlite]\nstart = 3"), "`start`: `start` must be true or a table"),
        (plan(systems="[systems.sqlite]\ndurability = 'ful'"), "'ful' is not a level of durability"),
        (plan(systems="[systems.db]"), "unknown kind of system `db`"),
        (plan(systems="[systems.'a b']\nkind = 'sqlite'"), '"a b" cannot be the name of a system'),
        (plan().replace('"ycsb"', '"ycbs"'), "unknown workload `ycbs`"),
        (plan().replace('title = "t"', ""), "the plan needs `title`"),
        (plan().replace('kind = "ycsb"', ""), "workload needs `kind`"),
        (plan(rest="[factors]\nthreads = []"), "`threads`: a factor needs at least one level"),
        (plan(rest="[factors]\nthreads = [[1]]"), "`threads`: a level is a number, a text, true or false"),
        (plan(rest="[compare]\nfactor = 'thread'"), "`thread` is not a factor of this plan"),
        (plan(rest="[compare]\nbaseline = 'other'"), "the baseline 'other' is not a level of `system`"),
    ],
)
def test_a_wrong_value_is_refused_by_its_key(text: str, what: str) -> None:
    assert what in refused(text).what


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e400"])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        (plan("window = {}"), "measure.window"),
        (plan("pacing = {{ stages = [{{ rate = 5, for = {} }}] }}"), "measure.pacing.stages.for"),
        (plan("rate = {}"), "measure.rate"),
        (plan(rest="[verify]\nseconds = {}"), "verify.seconds"),
        (plan(rest="[[faults]]\nat = {}\ndo = 'kill'"), "faults.at"),
        (plan(rest="[factors]\nthreads = [1, {}]"), "factors.threads"),
        (plan(workload="records = {}"), "workload.records"),
    ],
)
def test_what_is_no_finite_number_is_refused_whatever_the_key(text: str, key: str, number: str) -> None:
    shown = str(float(number))
    assert refused(text.format(number)).what == f"`{key}` is {shown}, and must be a finite number below 2^63"


def test_a_message_names_file_line_and_table(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(plan("repetitions = 5\nwindw = '10s'"))
    with pytest.raises(PlanError) as caught:
        read_plan(path)
    assert caught.value.where == f"{path}, line 8, [measure] windw"


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("start = { versoin = '10' }", "unknown key `versoin`"),
        ("start = true\ntls = { verfy = true }", "`tls` has no part `verfy`"),
    ],
)
def test_a_system_s_own_complaint_gets_the_place_in_the_file(table: str, what: str) -> None:
    error = refused(plan(systems=f"[systems.db]\nkind = 'mariadb'\n{table}"), must_run=False)
    assert error.what == what
    assert "did you mean" in error.hint
    assert error.where.startswith("the plan, line ")
    assert "[systems.db]" in error.where


HEADERS = "\n".join(f"[{'.'.join(['a'] * depth)}]\nb = 1" for depth in range(1, 3001, 60))


@pytest.mark.parametrize("rest", [HEADERS, f"[{'.'.join(['a'] * 3000)}]", f"x = {'[' * 300}{']' * 300}", "{a=" * 200])
def test_a_plan_that_nests_deeply_is_refused_in_a_sentence(rest: str) -> None:
    assert refused(plan(rest=rest)).exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    "words", [f"x={'[' * 3000}", f"x={'[' * 300}{']' * 300}", f"{'a.' * 3000}b=1", f"{'a.' * 99}b=1"]
)
def test_an_argument_that_nests_deeply_is_refused_in_a_sentence(words: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(plan())
    with pytest.raises(PlanError) as error:
        read_plan(path, said=[words])
    assert len(error.value.what) < 300
    with pytest.raises(PlanError):
        read_plan(path, only=[words])


def test_a_word_of_the_wrong_choice_names_the_nearest_and_all() -> None:
    assert (
        refused(plan("reset = 'restor'")).hint == "did you mean `restore`? It is one of: restore, reload, reuse, none"
    )


@pytest.mark.parametrize("secret", ["password = 'hunter2'", "passwd = 'hunter2'", "start = { password = 'hunter2' }"])
def test_a_literal_password_is_refused_and_never_repeated(secret: str) -> None:
    error = refused(plan(systems=f"[systems.sqlite]\n{secret}"))
    assert "a plan must not contain a secret" in error.what
    assert "env" in error.hint
    assert "hunter2" not in f"{error} {error.hint} {error.where} {error.__cause__}"


@pytest.mark.parametrize(
    ("password", "what"),
    [
        ("{ env = 'BAKEOFF_NOT_SET' }", "the environment variable BAKEOFF_NOT_SET that holds the password is not set"),
        ("{ file = 'not-here' }", "cannot read the password file"),
    ],
)
def test_a_password_that_is_not_there_is_refused_before_anything_starts(password: str, what: str) -> None:
    text = plan(systems=f"[systems.mysql]\naddress = 'h:1'\npassword = {password}", measure="reset = 'reload'")
    error = refused(text)
    assert what in error.what
    assert "line 4" in error.where
    assert resolve(text, Path("."), must_run=False).cells  # a dry run needs no password


def test_a_password_in_an_address_is_refused_and_never_repeated() -> None:
    error = refused(plan(systems="[systems.mariadb]\naddress = 'root:hunter2@db1:3306'"))
    assert "an address must contain no user and no password" in error.what
    assert "hunter2" not in f"{error} {error.hint} {error.where}"


def test_a_plain_index_on_id_is_refused_of_a_system_that_has_none() -> None:
    error = refused('title = "t"\n[systems.sqlite]\n[workload]\nkind = "sysbench"\nsecondary = true\n')
    assert error.what == "sysbench needs a plain index in place of the primary key, which sqlite does not offer"
    assert error.where.endswith("line 2, [systems.sqlite]")


def test_broken_toml_names_the_line() -> None:
    error = refused('title = "t"\nseed = = 1\n')
    assert error.what.startswith("the plan is not valid TOML")
    assert "line 2" in error.where


def test_a_missing_file_a_folder_and_no_text_are_distinguished(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for path, what in (
        (tmp_path / "none.toml", "the plan does not exist"),
        (tmp_path, "this is a folder"),
        (tmp_path / "binary.toml", "not UTF-8"),
    ):
        with pytest.raises(PlanError) as caught:
            read_plan(path)
        assert what in caught.value.what
        assert caught.value.where == str(path)


def test_the_first_thing_wrong_in_the_file_is_the_one_reported() -> None:
    assert "windw" in refused(plan("windw = '1s'\nrepetition = 3")).what


def test_choices_are_named_once_and_the_nearest_only_when_it_is_near() -> None:
    assert refused(plan("cache = 'hot'")).hint == "It is one of: warm, cold, as-is"
    known = "It is one of: read-uncommitted, read-committed, repeatable-read, snapshot, serializable"
    assert refused(plan(systems="[systems.sqlite]\nisolation = 'strong'")).hint == known


def test_a_misspelt_key_that_the_plan_handles_is_recognised_in_a_system() -> None:
    assert refused(plan(systems="[systems.sqlite]\ndurabilty = 'full'")).hint == "did you mean `durability`?"


def test_a_plan_saved_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + plan("repetitions = 2").replace("\n", "\r\n").encode())
    assert read_plan(path).record.repetitions == 2


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "9223372036854775808", "1e300", "9" * 5_001])
def test_a_number_that_is_none_or_fits_no_machine_is_refused(value: str) -> None:
    error = refused(plan(systems=f"[systems.sqlite]\nsettings = {{ cache_size = {value} }}"))
    assert "number" in error.what
    assert len(str(error)) < 300


@pytest.mark.parametrize("name", ["pipe", "device", "large", "zero byte"])
def test_files_that_are_none_are_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "workload"
    if name == "pipe":
        os.mkfifo(path)
    elif name == "device":
        path.symlink_to("/dev/zero")
    elif name == "large":
        path.touch()
        os.truncate(path, 5 << 20)
    named = "a\\u0000b" if name == "zero byte" else "workload"
    for read in (
        lambda: read_plan(path if name != "zero byte" else Path("a\0b")),
        lambda: resolve(f'title = "t"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\nycsb_file = "{named}"', tmp_path),
        lambda: Password(file=str(path) if name != "zero byte" else "a\0b").read("where"),
    ):
        with pytest.raises(PlanError):
            read()


def test_a_preset_that_is_no_text_is_refused() -> None:
    assert "preset" in refused('title = "t"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\npreset = []').what


def test_a_timeout_finer_than_it_can_be_kept_is_refused_with_the_reason() -> None:
    error = refused(plan("timeout = '9ms'"))
    assert error.what == "`timeout` is too short: 0.009 s"
    assert error.hint == "write at least 0.01 s, because overdue operations are detected once a millisecond"
    resolve(plan("timeout = '10ms'"), Path("."))


def test_what_the_command_line_sets_takes_the_place_of_what_the_plan_says() -> None:
    said = ["measure.window=5s", "factors.threads=[1, 4]", "seed=7", "measure.repetitions = 6", "title=Said = here"]
    found = resolve(plan("window = '9s'\nwarm_up = '1s'"), Path("."), said=said)
    record = found.record
    assert (record.window_s, record.warm_up_s, record.seed, record.repetitions) == (5.0, 1.0, 7, 6)
    assert record.title == "Said = here"
    assert record.factors["threads"] == [1, 4]
    assert found.text.endswith("# --set measure.repetitions = 6\n# --set title=Said = here\n")


def test_a_table_that_the_command_line_sets_takes_the_place_of_the_whole_one() -> None:
    tree = {"systems": {"a": {"start": {"version": "18"}, "kind": "postgresql"}}}
    override(tree, ['systems.a.start={image="p:17"}', 'systems.b={kind="null"}', 'systems.a."q.r".s=1'])
    assert tree["systems"] == {
        "a": {"start": {"image": "p:17"}, "kind": "postgresql", "q.r": {"s": 1}},
        "b": {"kind": "null"},
    }


def test_a_number_of_more_digits_than_can_be_read_is_a_text() -> None:
    tree: dict[str, Any] = {}
    override(tree, [f"seed={'9' * 5000}"])
    assert tree["seed"] == "9" * 5000


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("measure.window", "sets nothing"),
        ("=5", "sets nothing"),
        ("a b = 5", "sets nothing"),
        ("measure.windw=5s", "unknown key `windw`"),
        ("measure=5", "must be a table"),
        ("systems.sqlite.password=hunter2", "a plan must not contain a secret"),
    ],
)
def test_what_cannot_be_set_is_refused_as_in_the_plan(said: str, what: str) -> None:
    with pytest.raises(PlanError) as caught:
        resolve(plan(), Path("."), said=[said])
    assert what in caught.value.what
    assert caught.value.hint or "table" in what


@pytest.mark.parametrize(
    ("limit", "what", "hint"),
    [
        ("'latency_p99 < 2'", "2 has no unit, and latency_p99 is a time", "2ms"),
        ("['rate > 1/s', 'latncy_p99 < 2ms']", "unknown metric `latncy_p99`", "did you mean `latency_p99`?"),
        ("'latency_p99.pay < 2ms'", "no workload of this plan has the operation `pay`", "of READ, UPDATE"),
        ("'rate'", '"rate" is not a limit', "latency_p99 < 2ms"),
    ],
)
def test_a_limit_that_is_none_is_refused_with_its_place(limit: str, what: str, hint: str) -> None:
    error = refused(f"{plan()}\n[compare]\nlimit = {limit}\n")
    assert error.what == what
    assert error.where.endswith("[compare] limit")
    assert hint in error.hint


def test_limits_are_kept_as_the_plan_has_them() -> None:
    found = resolve(f"{plan()}\n[compare]\nlimit = 'latency_p99.read < 2ms'\n", Path("."))
    assert found.record.limits == ["latency_p99.read < 2ms"]
    assert not found.warnings or all("limit" not in words for words in found.warnings)


def test_a_missing_plan_leads_to_one_that_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for hint in ("`bakeoff init mine.toml` writes one", "try plans/quickstart.toml"):
        with pytest.raises(PlanError) as caught:
            read_plan(Path("mine.toml"))
        assert caught.value.hint == hint
        (tmp_path / "plans").mkdir(exist_ok=True)
        (tmp_path / "plans" / "quickstart.toml").touch()
