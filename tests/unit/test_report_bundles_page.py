"""The page of bundles against bundles: both sides in every chart, and what changed between them."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from bakeoff.analysis.compare import ComparisonAnswer
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.findings.between_bundles.both_sides import Joined
from bakeoff.findings.between_bundles.comparison import compare
from bakeoff.report.words.bundles import bundle_words
from builders.bundles import MARIADB, SQLITE, Story, write_bundle

STORY = Story(contenders=(MARIADB, SQLITE), threads=(1, 8), presets=("a",), window_s=3, warm_up_s=1)
NEWER = replace(MARIADB, version="11.4.2", rate_max=20_000.0)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write_bundle(tmp_path_factory.mktemp("made") / "before", STORY)


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return write_bundle(
        tmp_path_factory.mktemp("made") / "after", replace(STORY, contenders=(NEWER, SQLITE), noise=0.015)
    )


def words_of(page: str) -> str:
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>", " ", page, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).replace("\u00a0", " ").split())


def test_a_page_has_both_sides_in_each_chart_and_what_changed_first(
    tmp_path: Path, before: Bundle, after: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out" / "compared.html"
    asked = ["--objective", "rate", "--objective", "latency_p99", "--fail-if", "rate < -5%"]
    main(["compare", str(before.folder), str(after.folder), *asked, "--html", str(file)])
    assert capsys.readouterr().out.splitlines()[-1] == f"report  {file}"
    page = file.read_text()
    said = words_of(page)
    places = [
        "The throughput of after against that of before: lower in 1 of 4 cells (mariadb, 8 threads)",
        "What changed",
        "MariaDB 10.11.6 MariaDB 11.4.2",
        "less · equal · more",
        "By other metrics",
        "Results Setting",
        "Charts Response time",
    ]
    assert sorted(places, key=said.index) == places
    assert "rate < -5%: failed in mariadb / threads=8" in said
    assert "rate < -5%: undecided in sqlite_full / threads=8" in said
    assert "2 of 4 passed" in said
    charts = re.findall(r'aria-label="([^"]*)"', page)
    assert {"Throughput of before, after", "p99 response time of before, after"} <= set(charts)
    for side in ("before", "after"):
        assert page.count(f'data-name="{side}"') >= 8
    assert "40 of 40 runs valid" in said
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", page)
    assert "that the plan does not declare" not in said


def test_the_first_sentence_names_both_sides_in_a_single_cell_too() -> None:
    nothing: dict[str, Any] = {"setting": {}, "setting_words": "", "base": "before", "other": "after", "repetitions": 5}
    found = ComparisonAnswer(
        **nothing, base_value=1, other_value=1, verdict="no difference", better=None, words="no difference shown"
    )
    (first,) = bundle_words([found], metric("rate"), two_bundles=False)
    assert first == "After against before: no difference shown."


def test_what_one_bundle_tells_is_looked_up_in_that_bundle(before: Bundle, after: Bundle) -> None:
    found = compare([before], [after], [metric("rate")])
    joined = Joined([before], [after], found.matches, "rate", "bakeoff compare")
    assert len(joined.runs) == 40
    assert len({run.id for run in joined.runs}) == 40
    versions = {name.partition("-")[0]: facts.version for name, facts in joined.facts.items() if "-1" in name}
    assert versions == {"before": "10.11.6", "after": "11.4.2"}
    for run in joined.runs:
        side, number = run.cell.split("-")
        bundle = {"before": before, "after": after}[side]
        table, own = joined.intervals(run.id), bundle.intervals(f"b{run.block:02d}-c{number:0>2}")
        assert table is not None
        assert table.equals(own)
    assert [load.system for load in joined.loads] == [
        f"{side}: {name}" for side in ("before", "after") for name in ("mariadb", "sqlite_full")
    ]


def test_runs_of_several_bundles_a_side_stand_one_after_the_other(
    tmp_path: Path, before: Bundle, after: Bundle
) -> None:
    more = [
        write_bundle(tmp_path / name, replace(STORY, contenders=(MARIADB,), threads=(8,), noise=noise))
        for name, noise in (("b1", 0.01), ("b2", 0.011), ("a1", 0.012))
    ]
    found = compare(more[:2], more[2:], [metric("rate")])
    joined = Joined(more[:2], more[2:], found.matches, "rate", "bakeoff compare")
    assert [run.block for run in joined.runs] == [*range(1, 11), *range(1, 6)]
    assert [cell.levels for cell in joined.plan.cells] == [{"side": "before"}, {"side": "after"}]


def test_a_page_is_named_as_one(before: Bundle, after: Bundle, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(before.folder), str(after.folder), "--html", "page.txt"]) == 2
    assert "--html page.txt" in capsys.readouterr().err
