"""Systems of several nodes in the report: what came from each, a line for each in the charts, and marks across them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.charts.figures import figures_of
from bakeoff.report.charts.panel import marks_of
from bakeoff.report.charts.server import node_of
from bakeoff.report.charts.svg import COLOURS
from bakeoff.report.html.write import write_report
from bakeoff.report.text.terminal import render_text
from builders.bundles import MARIADB, Contender, Story, invalid, write_bundle
from builders.nodes import NODES, hurt, story


def test_what_came_from_each_node_is_in_a_row(tmp_path: Path) -> None:
    answer = answer_of(write_bundle(tmp_path / "bundle", story()))
    assert [node.node for node in answer.nodes] == list(NODES)
    lines = render_text(answer).splitlines()
    third = next(line for line in lines if "n3 (reader)" in line)
    assert third.split()[4:] == [
        "10.0",
        "%",
        "2.00",
        "ms",
        "2.00",
        "ms",
        "0",
        "20",
        *["1", "x", "in", "each", "run,", "13", "s", "each"],
    ]
    assert "1 x in each run, 4 s each" in next(line for line in lines if "n2 (reader)" in line)


def test_each_node_is_a_line_of_its_own_and_faults_stand_across(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", story())
    figures = figures_of(bundle, answer_of(bundle))
    text = figures.details[0].figure.canvas.inline("detail")
    for title in (
        "operations per second",
        "p99 response time",
        "memory of the server&#x27;s processes, bytes",
        "recv_queue",
    ):
        named = re.search(rf">{re.escape(title)}</text>(.*?)<g class=\"panel\"", text, re.DOTALL)
        assert named, title
        assert re.findall(r">(n\d)</text>", named[1]) == list(NODES), title
    assert "did not end right" not in text, "there was nothing"
    for words in ("kill n3", "start n3", "n3 back", "n2 silent", "n2 answers"):
        assert text.count(f">{words}<") == 1, words
    assert "mariadb, n3, repetition 1" in text
    assert figures.overview is not None
    assert "Vertical lines" in figures.overview.caption


def test_a_node_has_one_colour_in_every_panel_and_table(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", story())
    answer = answer_of(bundle)
    html = write_report(bundle, answer=answer).html.read_text()
    colours = dict(zip(NODES, COLOURS[1:4], strict=True))  # the first is the contestant's
    for series, (node, colour) in enumerate(colours.items(), 1):
        names = re.findall(rf"<text[^>]*>{node}</text>", html)
        assert len(names) > 3
        assert all(f'fill="{colour}"' in name for name in names), node
        lines = re.findall(rf'data-name="mariadb, {node}, repetition \d"><polyline[^>]*', html)
        assert lines
        assert all(f'stroke="{colour}"' in line for line in lines), node
        assert f'bg{series}"></span>{node} (' in html
    assert 'bg3"></span>kill n3 at 20 s' in html


def test_a_node_of_a_run_that_is_not_valid_keeps_its_colour(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", story(change=lambda run: invalid(hurt(run))))
    html = write_report(bundle).html.read_text()
    (line, *_) = re.findall(r'data-name="mariadb, n2, repetition \d"><polyline[^>]*', html)
    assert f'stroke="{COLOURS[2]}"' in line


def test_nodes_of_one_name_say_whose_they_are(tmp_path: Path) -> None:
    two = (MARIADB, Contender("other", rate_1=3_000.0, rate_max=20_000.0))
    bundle = write_bundle(tmp_path / "bundle", story(contenders=two))
    text = figures_of(bundle, answer_of(bundle)).details[0].figure.canvas.inline("detail")
    for words in ("mariadb n1", "other n1"):
        assert f">{words}</text>" in text


def test_what_came_of_faults_over_time_leads(tmp_path: Path) -> None:
    html = write_report(write_bundle(tmp_path / "bundle", story())).html.read_text()
    charts = re.findall(r'aria-label="((?:Rate|Throughput)[^"]*)"', html)
    assert charts[0] == "Throughput of every run over time"
    assert [one for one in charts if one == charts[0]] == charts[:1], "it is drawn once"
    assert any(one.startswith("Throughput of") for one in charts)


def test_ways_in_which_a_node_came_back_are_reported_once(tmp_path: Path) -> None:
    (fault,) = answer_of(write_bundle(tmp_path / "bundle", story())).faults
    assert fault.rejoined == ["incremental state transfer of 700 to 1,100 write sets"]
    assert fault.nodes == ["n3"]


#: Names that a plan may give nodes of an existing system: what markup, paths, columns and patterns are made of.
HOSTILE = (
    ("<script>alert(1)</script>", "a&b \"'", "</svg><img src=x onerror=alert(1)>"),
    ("db1.example.com", "db1", "db1.example.com.ok"),
    ("os", "db", "second"),
    ("{}", "{{ 7 * 7 }}", "%s%(n)s\\1"),
    ("../../etc/passwd", "n" * 500, "x, repetition 1"),
    ("\u202egnp", "\x00\x1b[31m\ufffe", "\n\t "),
    ("1", "２", "é\u0301\U0001f600"),
)


@pytest.mark.parametrize("names", HOSTILE)
def test_whatever_nodes_are_called_there_is_a_page_and_no_markup_of_theirs(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    bundle = write_bundle(tmp_path / "bundle", story(names))
    answer = answer_of(bundle)
    html = write_report(bundle, answer=answer).html.read_text()
    for name in names:
        assert name not in html or not set(name) & set("<>\x00\x1b")
    assert "onerror=alert(1)>" not in html
    assert html.count("<script>") == 1, "ours"
    assert [node.node for node in answer.nodes] == list(names)
    render_text(answer)
    drawn = figures_of(bundle, answer).details[0].over_time
    columns = {column for run in drawn.runs for column in run.metrics}
    for name in names:
        assert any(node_of(column, names) == name for column in columns), name


def test_a_mark_stands_where_it_typically_was() -> None:
    runs = [
        hurt(RunRecord(id="r", block=block, cell="c", order=0, started="", state="done", seed=1, ok=100))
        for block in (1, 2, 3)
    ]
    marks = {mark.words: (mark.at_s, mark.planned) for mark in marks_of(runs, warm_up_s=10.0)}
    assert marks == {
        "kill n3": (30.01, True),
        "start n3": (35.0, True),
        "n3 back": (43.0, True),
        "n2 silent": (50.0, False),
        "n2 answers": (54.0, False),
    }


def test_a_bundle_of_single_servers_has_neither(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", Story(contenders=(MARIADB,), threads=(4,), presets=("a",)))
    answer = answer_of(bundle)
    assert answer.nodes == []
    overview = figures_of(bundle, answer).overview
    assert overview is not None
    assert "Vertical lines" not in overview.caption
