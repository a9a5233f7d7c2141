"""`bakeoff bundles`: every bundle is listed whatever is wrong with it, and only what bakeoff made is removed."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bakeoff import cli
from bakeoff.bundle import results_folder
from bakeoff.bundle.write import hold
from bakeoff.errors import BundleError, ExitCode
from builders.bundles import Story, busy, invalid, write_bundle

TINY = Story(threads=(1,), presets=("a",), repetitions=2, window_s=2, warm_up_s=1, title="Tiny")
LONG_AGO = "2026-11-21T12:00:00+00:00"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("bundles") / "tiny", TINY).folder


@pytest.fixture
def results(tmp_path: Path, tiny: Path) -> Path:
    """Two bundles, `new`, and `old` of the day before."""
    for name in ("new", "old"):
        shutil.copytree(tiny, tmp_path / name)
    change_info(tmp_path / "old", created="2026-11-20T12:00:00+00:00")
    return tmp_path


def change_info(folder: Path, **fields: Any) -> None:
    path = folder / "bundle.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def bundles(*words: object) -> int:
    return cli.main(["bundles", *map(str, words)])


def listed(results: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert bundles("list", "--results", results, "--json") == ExitCode.DONE
    return list(json.loads(capsys.readouterr().out)["bundles"])


def test_the_newest_comes_first_with_its_runs_and_size(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(results, capsys)
    assert [one["name"] for one in found] == ["new", "old"]
    first = found[0]
    assert (first["title"], first["created"], first["state"]) == ("Tiny", LONG_AGO, "complete")
    assert (first["runs_valid"], first["runs_finished"], first["runs_planned"]) == (4, 4, 4)
    assert first["size_bytes"] > 10_000


def test_a_search_that_has_ended_made_all_its_runs(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = results / "new" / "plan.json"
    document = json.loads(plan.read_text())
    search = {"factor": "threads", "limits": ["latency_p99 < 2ms"], "low": 1, "high": 64, "first": 1, "runs": 25}
    search |= {"highest": True, "whole": True, "precision_ratio": 0.05}
    plan.write_text(json.dumps({**document, "search": search, "repetitions": 25}))
    assert listed(results, capsys)[0]["runs_planned"] == 4


def test_the_table_says_how_many_runs_do_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = Story(**{**vars(TINY), "change": lambda run: invalid(run) if run.block == 1 else run})
    write_bundle(tmp_path / "some", story)
    assert bundles("--results", tmp_path) == ExitCode.DONE
    assert "4 of 4, 2 invalid" in capsys.readouterr().out
    write_bundle(
        tmp_path / "some", Story(**{**vars(story), "change": lambda run: busy(run) if run.block == 1 else run})
    )
    assert bundles("--results", tmp_path) == ExitCode.DONE
    assert "4 of 4, 2 disturbed" in capsys.readouterr().out


def test_the_table_has_the_beginning_of_each_note(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundles("--results", results) == ExitCode.DONE
    assert "note" not in capsys.readouterr().out
    assert bundles("note", results / "old", "before the new disks, which we got on a Monday") == ExitCode.DONE
    assert bundles("--results", results) == ExitCode.DONE
    head, new, old = capsys.readouterr().out.splitlines()[-3:]
    assert head.endswith("note")
    assert new.endswith("Tiny")
    assert old.endswith("before the new disks, which we got on a…")


def test_what_is_said_before_the_verb_holds_after_it(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundles("--results", results, "--json", "list") == ExitCode.DONE
    assert len(json.loads(capsys.readouterr().out)["bundles"]) == 2
    assert cli.main(["systems", "--json", "list"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["systems"]


@pytest.mark.parametrize("damage", ["{", '{"format": 99}', '{"created": "yesterday"}'])
def test_a_damaged_bundle_is_listed_as_such(results: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    path = results / "new" / "bundle.json"
    whole = json.loads(path.read_text())
    path.write_text(damage if damage == "{" else json.dumps({**whole, **json.loads(damage)}))
    found = {one["name"]: one for one in listed(results, capsys)}
    assert found["new"]["state"] == "damaged"
    assert found["new"]["damage"]
    assert found["old"]["state"] == "complete"


def test_a_run_that_nobody_ended_is_distinguished_from_one_that_still_runs(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change_info(results / "new", state="running")
    assert listed(results, capsys)[0]["state"] == "broken off"
    with hold(results / "new", "Tiny"):
        assert listed(results, capsys)[0]["state"] == "running"


def test_one_is_shown_in_ten_lines_with_its_answer(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundles("show", "new", "--results", results) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 10
    shown = {line[:8].strip(): line[10:] for line in lines}
    assert shown["title"] == "Tiny"
    assert shown["systems"] == "mariadb (MariaDB 10.11.6); sqlite_full (SQLite 3.46.0)"
    assert "closed loop; 2 repetitions, 1 s warm-up, 2 s window" in shown["plan"]
    assert shown["answer"].startswith("sqlite_full ")
    under = next(after for line, after in pairwise(lines) if line.startswith("answer"))
    assert under.strip().startswith(("SHOWN", "UNDECIDED"))
    assert shown["report"] == f"none yet: bakeoff report {results / 'new'}"
    (results / "new" / "report.html").write_text("")
    bundles("show", results / "new", "--json")
    assert json.loads(capsys.readouterr().out)["report"] == str(results / "new" / "report.html")


def test_a_note_is_kept_shown_and_taken_back(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundles("note", "old", "before the\nnew", "disks", "--results", results) == ExitCode.DONE
    assert {one["name"]: one["note"] for one in listed(results, capsys)} == {"old": "before the new disks", "new": ""}
    assert bundles("show", "old", "--results", results) == ExitCode.DONE
    assert "note      before the new disks" in capsys.readouterr().out
    assert bundles("note", "old", "--results", results) == ExitCode.DONE
    assert capsys.readouterr().out == "before the new disks\n"
    assert bundles("note", "old", "", "--results", results) == ExitCode.DONE
    assert capsys.readouterr().out == "no note\n"
    assert [one["note"] for one in listed(results, capsys)] == ["", ""]


def test_a_note_that_cannot_be_kept_is_refused(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundles("note", "old", "x" * 1001, "--results", results) == ExitCode.USAGE
    assert "the note has 1,001 characters" in capsys.readouterr().err
    with hold(results / "old", "a run"):
        assert bundles("note", "old", "words", "--results", results) == ExitCode.DONE, "also while it is written"
    assert bundles("note", "none", "words", "--results", results) == ExitCode.USAGE
    assert "no such bundle: none" in capsys.readouterr().err


def test_nothing_is_removed_unless_it_was_agreed_to(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bundles("remove", "new", "--results", results) == ExitCode.USAGE
    assert "hint: --yes" in capsys.readouterr().err
    assert bundles("remove", "new", "--results", results, "--dry-run") == ExitCode.DONE
    assert "would remove 1 bundle" in capsys.readouterr().out
    assert (results / "new" / "bundle.json").is_file()


def test_removing_says_what_is_free_again_and_leaves_what_others_made(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (results / "new" / "notes.md").write_text("mine")
    (results / "new" / ".bundle.json.0a1b2c3d4e5f.part").write_text("of one that was killed")
    size_bytes = results_folder.listed(results / "old").size_bytes
    assert bundles("remove", results / "old", "new", "--results", results, "--yes", "--json") == ExitCode.DONE
    told = json.loads(capsys.readouterr().out)
    assert told["freed_bytes"] >= 2 * size_bytes - 8192
    assert told["left"] == {str(results / "new"): ["notes.md"], str(results / "old"): []}
    assert [path.name for path in results.rglob("*")] == ["new", "notes.md"]


def test_a_link_to_a_bundle_takes_nothing_away(
    results: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "bundle"
    (results / "new").rename(elsewhere)
    before = sorted(path.name for path in elsewhere.iterdir())
    (results / "new").symlink_to(elsewhere)
    assert bundles("remove", "new", "--results", results, "--yes") == ExitCode.USAGE
    assert "is a link" in capsys.readouterr().err
    assert bundles("remove", "--older-than", "1s", "--results", results, "--yes") == ExitCode.DONE
    assert sorted(path.name for path in elsewhere.iterdir()) == before
    assert [path.name for path in results.iterdir()] == ["new"]


def planted(bundle: Path, outside: Path) -> dict[str, str]:
    """Files, folders and links of a user all over a bundle, by path: what each holds, or what a link points to."""
    run = next((bundle / "runs").iterdir()).name
    (outside / "c00000001").mkdir(parents=True)
    (outside / "c00000001" / "result.json").write_text("of another")
    texts = [
        *("notes.md", "charts/mine.png", "charts/latency.txt", "files/other.sql", "facts/old.json", "loads/why.txt"),
        *(f"runs/{run}/notes.txt", f"runs/{run}/plots/a.svg", "runs/b01-backup/result.json", "runs/thoughts.md"),
        *("mine/bundle.json", "charts/sub/throughput.svg", "loads/a-0123456789/notes"),
    ]
    for name in texts:
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_text(f"mine: {name}")
    links = [f"runs/{run}/events.csv", "runs/b02-c00000001", "charts/spectrum.svg", f"runs/{run}/engine.log"]
    targets = [outside / "c00000001/result.json", outside / "c00000001", "nowhere", outside]
    for name, target in zip(links, targets, strict=True):
        (bundle / name).unlink(missing_ok=True)
        (bundle / name).symlink_to(target)
    return {name: f"mine: {name}" for name in texts} | dict.fromkeys(links, "")


@pytest.mark.parametrize("damaged", [False, True])
def test_what_a_user_put_anywhere_into_a_bundle_stays_and_is_named(
    results: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], damaged: bool
) -> None:
    bundle, outside = results / "new", tmp_path_factory.mktemp("outside")
    mine = planted(bundle, outside)
    if damaged:
        (bundle / "plan.json").write_text("{")
    words = ["remove", "new", "--results", results, "--json", *(["--damaged"] if damaged else [])]
    assert bundles(*words, "--dry-run") == ExitCode.DONE
    before = json.loads(capsys.readouterr().out)
    assert (bundle / "bundle.json").is_file()
    assert bundles(*words, "--yes") == ExitCode.DONE
    told = json.loads(capsys.readouterr().out)
    assert before["left"] == told["left"]
    assert (before["removed"], told["removed"]) == (False, True)
    there = {str(path.relative_to(bundle)): path for path in bundle.rglob("*") if path.is_symlink() or path.is_file()}
    assert there.keys() == mine.keys()
    assert all(path.is_symlink() or path.read_text() == mine[name] for name, path in there.items())
    named = told["left"][str(bundle)]
    assert all(any(name == one or (one.endswith("/") and name.startswith(one)) for one in named) for name in mine)
    assert (outside / "c00000001" / "result.json").read_text() == "of another"


@pytest.mark.parametrize("text", ["{}", "[1]", "not even JSON", '{"format": 1, "name": "my bundle of sticks"}'])
def test_a_folder_that_only_looks_like_a_bundle_is_not_touched(
    results: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    mine = results / "mine"
    (mine / "runs").mkdir(parents=True)
    (mine / "bundle.json").write_text(text)
    (mine / "plan.toml").write_text("my plan")
    (mine / "runs" / "monday.txt").write_text("10 km")
    assert bundles("remove", "new", mine, "--results", results, "--yes") == ExitCode.USAGE
    told = capsys.readouterr().err
    assert "this is not a bundle, or it is damaged:" in told
    assert "--damaged" in told
    assert (results / "new" / "bundle.json").is_file()
    assert sorted(path.name for path in mine.rglob("*")) == ["bundle.json", "monday.txt", "plan.toml", "runs"]
    with pytest.raises(BundleError):
        results_folder.remove(mine)


def test_old_ones_are_removed_by_their_age(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_info(results / "new", created=(datetime.now(UTC) - timedelta(days=2)).isoformat())
    change_info(results / "old", created=(datetime.now(UTC) - timedelta(days=40)).isoformat())
    assert bundles("remove", "--older-than", "30d", "--results", results, "--yes") == ExitCode.DONE
    assert [one["name"] for one in listed(results, capsys)] == ["new"]
    assert bundles("remove", "--older-than", "30d", "--results", results, "--yes") == ExitCode.DONE


def test_one_that_is_being_written_is_not_removed(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change_info(results / "new", state="running")
    with hold(results / "new", "Tiny"):
        assert bundles("remove", "new", "--results", results, "--yes") != ExitCode.DONE
        assert "is writing into this bundle" in capsys.readouterr().err
        assert bundles("remove", "--older-than", "0", "--results", results, "--yes") == ExitCode.USAGE
        assert bundles("remove", "--older-than", "1s", "--results", results, "--yes") == ExitCode.DONE
    assert (results / "new" / "bundle.json").is_file()
    assert not (results / "old").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["remove"], "no bundle is named"),
        (["remove", "new", "--older-than", "30d"], "not both"),
        (["remove", "--older-than", "30"], "there is no unit"),
        (["remove", "plain"], "is not a bundle"),
        (["remove", "nothing"], "no such bundle"),
        (["show", "plain"], "is not a bundle"),
        (["list", "--results", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_wrong_words_are_answered_in_a_sentence(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "bakeoff-results").mkdir()
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path)
    assert bundles(*words) == ExitCode.USAGE
    assert said in capsys.readouterr().err
