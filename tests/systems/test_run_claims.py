"""An article of four claims on SQLite, from its document to verdicts and pages. That other processes may be busy is
left out of every run: what is tested is which runs are made, and what becomes of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from bakeoff.cli import main
from bakeoff.errors import ExitCode
from bakeoff.model.records.run import RunRecord

PLAN = """
[systems.sqlite]
durability = "full"
[workload]
kind = "ycsb"
records = 200
[factors]
preset = ["a", "c"]
[measure]
threads = 2
warm_up = 0
operations = 500
repetitions = 5
reset = "reload"
"""
CLAIMS = """
format = 1
article = "tiny"
title = "Commits <b>cost</b> | time"
setup = "`rm -rf` on a laptop"
[[slips]]
says = "2 + 2 = 5"
right = "4"
[[claims]]
id = "T-1"
says = "Reads are faster than reads and updates."
plan = "mix"
[claims.test]
kind = "difference"
of = { preset = "c" }
against = { preset = "a" }
is = "higher"
[[claims]]
id = "T-2"
says = "Updates cost <nothing>."
plan = "mix"
[claims.test]
kind = "equivalent"
of = { preset = "c" }
against = { preset = "a" }
[[claims]]
id = "T-4"
says = "It loads within a minute."
plan = "mix"
measure = "load_s"
[claims.test]
kind = "level"
of = { preset = "a" }
high = 60
[[claims]]
id = "T-3"
says = "It runs on Mars."
untestable = "No machine there."
"""


def claims(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, str]:
    """By id the verdict."""
    capsys.readouterr()
    assert main(["claims", *map(str, arguments), "--together", "--quiet", "--json"]) == ExitCode.DONE
    return {one["id"]: one["verdict"] for one in json.loads(capsys.readouterr().out)["claims"]}


def test_a_tiny_article_is_run_judged_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunRecord, "disturbances", property(lambda _: []))
    document, results = tmp_path / "tiny.toml", tmp_path / "results"
    document.write_text(CLAIMS)
    (tmp_path / "mix.toml").write_text(PLAN)
    said = (document, "--results", results)
    assert set(claims(capsys, *said, "--no-run").values()) == {"inconclusive", "not testable"}
    expected = {"T-1": "reproduced", "T-2": "contradicted", "T-3": "not testable", "T-4": "reproduced"}
    assert claims(capsys, *said) == expected
    (bundle,) = results.iterdir()
    assert (bundle / "report.html").is_file()
    made = {path.name: path.stat().st_mtime_ns for path in (bundle / "runs").iterdir()}
    assert len(made) == 10

    # A complete bundle is used again, an unfinished one is continued.
    page, markdown = tmp_path / "tiny.html", tmp_path / "tiny.md"
    assert claims(capsys, *said, "--html", page, "--markdown", markdown) == expected
    lost = sorted((bundle / "runs").iterdir())[-1]
    shutil.rmtree(lost)
    assert claims(capsys, *said) == expected
    now = {path.name: path.stat().st_mtime_ns for path in (bundle / "runs").iterdir()}
    assert {name for name, at in now.items() if made[name] != at} == {lost.name}
    assert list(results.iterdir()) == [bundle]

    html, text = page.read_text(), markdown.read_text()
    assert "Commits &lt;b&gt;cost&lt;/b&gt; | time" in html
    assert "Updates cost &lt;nothing&gt;." in html
    assert "<b>" not in html
    assert "<svg" in html
    for sign in ("✓ reproduced", "✗ contradicted", "– not testable"):
        assert sign in html
        assert sign in text
    assert r"Commits \<b\>cost\</b\> \| time" in text
    assert "the article says: 2 + 2 = 5; right: 4" in html
    assert "](tiny/mix-throughput.svg)" in text
    assert (tmp_path / "tiny/mix-throughput.svg").read_text().startswith("<svg")

    assert main(["claims", *map(str, said)]) == ExitCode.DONE
    shown = capsys.readouterr().out
    assert "T-1  ✓ reproduced" in shown
    assert "4 claims: 2 reproduced, 1 contradicted, 1 not testable" in shown


def test_a_plan_that_cannot_run_leaves_its_claims_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "tiny.toml"
    document.write_text(CLAIMS)
    nobody = PLAN.replace("[systems.sqlite]", '[systems.mariadb]\naddress = "127.0.0.1:1"\nuser = "nobody"')
    (tmp_path / "mix.toml").write_text(nobody)
    code = main(["claims", str(document), "--results", str(tmp_path / "results"), "--together", "--quiet"])
    out = capsys.readouterr()
    assert code == ExitCode.ENVIRONMENT
    assert "its plan could not be run" in out.out
    assert "T-3  – not testable" in out.out


def test_a_dry_run_starts_nothing_and_says_what_would_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "tiny.toml"
    document.write_text(CLAIMS)
    (tmp_path / "mix-full.toml").write_text(PLAN)
    assert main(["claims", str(document), "--scale", "full", "--dry-run", "--json"]) == ExitCode.DONE
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert (plan["plan"], plan["runs"]) == ("mix", 10)
    assert not list(tmp_path.glob("*/bundle.json"))


def test_articles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claims", "--json"]) == ExitCode.DONE
    assert "articles" in json.loads(capsys.readouterr().out)
