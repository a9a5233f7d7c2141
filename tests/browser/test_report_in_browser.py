"""The report where it is read: on a screen, in the dark, on paper, and without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bakeoff.analysis.registry import metric
from bakeoff.bundle.read import Bundle
from bakeoff.model.records.run import RunRecord
from bakeoff.report.answer import answer_of
from bakeoff.report.html.write import write_report
from builders import nodes
from builders.bundles import MARIADB, SQLITE, Story, invalid, write_bundle
from builders.chromium import DARK, Chromium, asked_by_page, without_policy

pytestmark = pytest.mark.browser

SHOWN = "[...document.querySelectorAll({!r})].filter(e => e.checkVisibility()).length"


def shown(selector: str) -> str:
    """How many of these are on the page and take up room."""
    return SHOWN.format(selector)


def pointed_at(selector: str, number: int = 0) -> str:
    """What the hint says when the pointer is in the middle of one of these."""
    return f"""(() => {{
        const mark = document.querySelectorAll({selector!r})[{number}];
        const box = mark.getBoundingClientRect();
        const at = {{clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true}};
        mark.dispatchEvent(new PointerEvent("pointermove", at));
        return document.getElementById("tip").textContent;
    }})()"""


def test_charts_have_marks_in_sight(chromium: Chromium, report: Path) -> None:
    assert chromium.ask(report, shown("svg.chart polyline")) > 50
    assert chromium.ask(report, shown("svg.chart circle")) > 30
    assert chromium.ask(report, shown("svg.chart .warm-up")) > 5
    assert chromium.ask(report, shown("svg.chart line.invalid")) > 0


def test_long_names_make_no_table_wider_than_the_page(chromium: Chromium, tmp_path: Path) -> None:
    long = "read-mostly, innodb_flush_log_at_trx_commit 2, isolation repeatable-read"
    sides = (replace(MARIADB, name="mariadb_with_a_longer_name"), replace(SQLITE, name="sqlite_full_synchronous"))
    story = Story(contenders=sides, threads=(16,), presets=(long, "c"), repetitions=2, window_s=3, warm_up_s=1)
    page = write_report(write_bundle(tmp_path / "bundle", story)).html
    wider = "[...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert chromium.ask(page, wider, "--window-size=1200,800") == 0


SMALL = Story(presets=("a",), repetitions=2, window_s=3, warm_up_s=1)
LEVELS = ("serializable", "repeatable-read", "read-committed", "read-uncommitted", "snapshot", "none")


def isolated(count: int) -> Story:
    """Contestants of long names, whose settings have long values."""
    modes = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION"
    sides = [
        replace(MARIADB, name=f"isolation={level}", managed=False, settings={"sql_mode": f"{modes},{level}"})
        for level in LEVELS[:count]
    ]
    long = "read-mostly, innodb_flush_log_at_trx_commit 2"
    return replace(SMALL, contenders=sides, presets=(long, "c"), threads=(1, 64), statements=(14, 4, 2), change=failing)


def failing(run: RunRecord) -> RunRecord:
    happened = {"fail_conflict": run.ok // 50, "unknown": 3, "wrong": 20_000, "fail_other": 9}
    return invalid(run).model_copy(update={"errors": happened}) if run.id == "b01-c01" else run


#: With all folds open.
WIDER = """(() => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    const wide = [...document.querySelectorAll(".wide")].filter(e => e.scrollWidth > e.clientWidth + 1);
    return [document.documentElement.scrollWidth, wide.map(e => e.textContent.slice(0, 40))];
})()"""


@pytest.mark.parametrize("contestants", [2, 6])
def test_no_table_scrolls_sideways_on_a_screen_of_1300_pixels(
    chromium: Chromium, tmp_path: Path, contestants: int
) -> None:
    bundle = write_bundle(tmp_path / "bundle", isolated(contestants))
    asked = ("cpu_us_per_op", "latency_p99.read", "write_bytes_per_op", "size_on_disk_bytes", "error_ratio")
    page = write_report(bundle, answer=answer_of(bundle, [metric(name) for name in asked])).html
    assert chromium.ask(page, WIDER, "--window-size=1300,900") == [1300, []]


def test_no_table_of_faults_and_nodes_does(chromium: Chromium, tmp_path: Path) -> None:
    page = write_report(write_bundle(tmp_path / "bundle", nodes.story(threads=(4, 16)))).html
    assert chromium.ask(page, WIDER, "--window-size=1300,900") == [1300, []]


def described(folder: Path, story: Story, change: Callable[[Bundle], None]) -> Path:
    bundle = write_bundle(folder / "bundle", story)
    bundle.plan.description = "Why this was asked, by whom, and what hangs on it. " * 12
    change(bundle)
    return write_report(bundle).html


def as_factor(bundle: Bundle, factor: str, levels: tuple[int, ...]) -> None:
    bundle.plan.compare_factor = factor
    for cell in bundle.plan.cells:
        cell.levels = {"system": "mariadb", factor: levels[int(cell.system == "b")]}
        cell.system = "mariadb"


FIRST_SCREENS: dict[str, tuple[Story, Callable[[Bundle], None]]] = {
    "two systems over threads": (replace(SMALL, threads=(1, 4, 16, 64), repetitions=5), lambda _: None),
    "one setting": (
        replace(SMALL, contenders=(MARIADB, replace(MARIADB, name="b", rate_1=4_600)), threads=(8,), repetitions=5),
        lambda bundle: as_factor(bundle, "settings.innodb_flush_log_at_trx_commit", (1, 2)),
    ),
    "a sweep": (
        replace(SMALL, contenders=(MARIADB,), threads=(1, 4, 16, 64, 128), repetitions=5),
        lambda bundle: setattr(bundle.plan, "compare_factor", "threads"),
    ),
    "one system alone": (replace(SMALL, contenders=(MARIADB,), threads=(8,)), lambda _: None),
    "invalid runs": (
        replace(SMALL, threads=(1, 8), change=lambda run: invalid(run) if run.block == 1 else run),
        lambda _: None,
    ),
    "six contestants": (replace(isolated(6), repetitions=5), lambda _: None),
}


@pytest.mark.parametrize("story", FIRST_SCREENS)
def test_answer_validity_and_leading_chart_are_on_the_first_screen(
    chromium: Chromium, tmp_path: Path, story: str
) -> None:
    page = described(tmp_path, *FIRST_SCREENS[story])
    # One setting has no chart of its own: the rows draw its few values, and the details follow at once.
    bottoms = """["h1", ".answer .says", ".answer .trust", ".answer .rows", ".lead svg.chart"].map(
        (what) => document.querySelector(what)).filter((found) => found).map(
        (found) => Math.round(found.getBoundingClientRect().bottom))"""
    found = chromium.ask(page, bottoms, "--window-size=1300,900")
    assert len(found) == (4 if story in ("one setting", "one system alone") else 5)
    assert found == sorted(found)
    assert found[-1] <= 900


def test_the_page_has_nothing_to_complain_about(chromium: Chromium, report: Path) -> None:
    assert chromium.complaints(report) == []


def test_complaints_would_be_heard(chromium: Chromium, report: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(report.read_text().replace("</body>", "<script>undefinedFunction()</script></body>"))
    assert "Content Security Policy" in " ".join(chromium.complaints(page))


def test_nothing_is_asked_for_outside(chromium: Chromium, report: Path) -> None:
    assert chromium.requests(report) == set()


@pytest.mark.parametrize(
    ("planted", "asked"),
    [
        ('<img src="http://127.0.0.1:9/x.png">', "http://127.0.0.1:9/x.png"),
        ('<script>fetch("https://update.googleapis.com/x")</script>', "https://update.googleapis.com/x"),
        ('<meta http-equiv="refresh" content="0;url=https://outside.example/">', "https://outside.example/"),
    ],
)
def test_what_the_report_asks_for_would_be_seen(
    chromium: Chromium, report: Path, tmp_path: Path, planted: str, asked: str
) -> None:
    """Also where an ordinary browser asks for its own updates."""
    page = tmp_path / "page.html"
    page.write_text(without_policy(report.read_text()).replace("</body>", f"{planted}</body>"))
    assert chromium.requests(page) == {asked}


def test_what_a_browser_asks_for_itself_is_not_the_pages() -> None:
    def event(kind: int, url: str, **more: str) -> dict[str, object]:
        return {"type": kind, "params": {"url": url, **more}}

    begun, other = 7, 8
    events = [
        event(begun, "https://accounts.example/list", initiator="not an origin"),
        event(other, "https://accounts.example/"),
        event(begun, "file:///report.html", initiator="not an origin"),
        event(begun, "https://accounts.example/of-the-page", initiator="null"),
        event(other, "https://prepared.example/"),
        {"type": other},
    ]
    log = {"constants": {"logEventTypes": {"URL_REQUEST_START_JOB": begun}}, "events": events}
    assert asked_by_page(log) == {"https://accounts.example/of-the-page", "https://prepared.example/"}


def test_pointing_at_a_mark_tells_its_figure(chromium: Chromium, report: Path) -> None:
    told = chromium.ask(report, pointed_at(".lead g.panel polygon[data-tip]"))
    assert told.startswith("sqlite_full, preset a, 1 thread: ")
    assert "/s (" in told


def test_pointing_into_a_panel_reads_every_line_at_that_second(chromium: Chromium, report: Path) -> None:
    told = chromium.ask(report, pointed_at(".details-of-setting[open] g.panel polyline")).splitlines()
    assert told[0].startswith("throughput, operations per second, 1")  # near the middle of 24 seconds
    assert told[0].endswith(" s")
    assert sum("mariadb, repetition" in line for line in told) == 5
    assert all(line.endswith("/s") for line in told[1:])


def test_values_read_back_from_a_drawing_are_those_of_the_bundle(chromium: Chromium, report: Path) -> None:
    """The p99 axis may be logarithmic: the same way back must hold."""
    import pyarrow.parquet as pq

    told = chromium.ask(report, pointed_at(".details-of-setting[open] g.panel polyline", 20)).splitlines()
    assert told[0].startswith("response time: ")
    second = int(float(told[0].split(", ")[-1].split()[0]))
    listed = next(line for line in told if line.startswith("mariadb, repetition 1: "))
    unit = listed.split()[-1]
    read = float(listed.split()[-2].replace(",", "")) * {"ms": 1, "µs": 1e-3, "s": 1e3}[unit]
    setting = chromium.ask(report, "document.querySelector('.details-of-setting[open] summary').textContent")
    cell = {"preset a, 8 threads": "c02"}[setting]
    table = pq.ParquetFile(report.parent / f"runs/b01-{cell}/intervals.parquet").read(use_threads=False).to_pydict()
    near = [table[name][s] for name in ("p50_ms", "p99_ms") for s in range(max(0, second - 1), second + 2)]
    assert min(abs(read / value - 1) for value in near) < 0.01


def test_picking_a_setting_shows_its_charts_only(chromium: Chromium, report: Path) -> None:
    pick = """(() => {
        const picker = document.getElementById("setting");
        picker.value = "2";
        picker.dispatchEvent(new Event("change"));
        return [...document.querySelectorAll(".details-of-setting")].map(d => d.open && !d.hidden);
    })()"""
    assert chromium.ask(report, pick) == [False, False, True, False]


def test_a_click_on_a_name_sets_it_off_in_all_charts(chromium: Chromium, report: Path) -> None:
    click = """(() => {
        document.querySelector("svg.chart .key[data-series='1']").dispatchEvent(new MouseEvent("click"));
        const faded = [...document.querySelectorAll("svg.chart g.panel .faded")].map(e => e.dataset.series);
        return [faded.length > 10, [...new Set(faded)]];
    })()"""
    assert chromium.ask(report, click) == [True, ["0"]]


def test_picking_a_repetition_fades_the_others(chromium: Chromium, report: Path) -> None:
    pick = """(() => {
        const picker = document.getElementById("repetition");
        picker.value = "3";
        picker.dispatchEvent(new Event("change"));
        const clear = [...document.querySelectorAll("g.panel [data-rep]:not(.faded)")];
        return [...new Set(clear.map(e => e.dataset.rep))];
    })()"""
    assert chromium.ask(report, pick) == ["3"]


def test_one_percentile_is_shown_and_another_can_be_picked(chromium: Chromium, report: Path) -> None:
    assert chromium.ask(report, shown(".choice figure")) == 1
    pick = """(() => {
        document.querySelector("label[for=pick-1]").click();
        return [...document.querySelectorAll(".choice figure")].map(f => f.checkVisibility());
    })()"""
    assert chromium.ask(report, pick) == [True, False, False, False]


def without_script(html: str) -> str:
    return re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)


def as_on_paper(html: str) -> str:
    return html.replace("@media print", "@media all")


def test_without_scripts_tables_and_charts_are_there(chromium: Chromium, report: Path) -> None:
    tables = f"{shown('table')} === document.querySelectorAll('table').length"
    asked = f"[{tables}, {shown('.pickers')}, {shown('.choice figure')}, {shown('.details-of-setting summary')}]"
    assert chromium.ask(report, asked, edit=without_script) == [True, 0, 1, 4]
    assert chromium.ask(report, shown("svg.chart polyline"), edit=without_script) > 50


def test_where_scripts_are_forbidden_everything_is_there_and_prints(
    chromium: Chromium, report: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text(re.sub(r"script-src '[^']+'", "script-src 'none'", report.read_text()))
    dom = chromium.dom(page)
    assert '<html lang="en">' in dom  # the script would have marked it
    for words in ("operations/s", "b05-c08", "What this does not show", "<polyline"):
        assert words in dom
    assert pages(chromium.pdf(page)) >= 5


def test_it_is_dark_where_the_reader_wants_it_dark(chromium: Chromium, report: Path) -> None:
    colours = """[
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector("svg.chart text.tick")).fill,
        getComputedStyle(document.querySelector("svg.chart polyline.s0")).stroke,
    ]"""
    light, dark = chromium.ask(report, colours), chromium.ask(report, colours, DARK)
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] == "rgb(20, 23, 27)"
    assert light[2] == "rgb(0, 114, 178)"
    assert all(a != b for a, b in zip(light, dark, strict=True))


@pytest.mark.parametrize("options", [(), (DARK,)])
def test_everything_can_be_read_on_paper(chromium: Chromium, report: Path, options: tuple[str, ...]) -> None:
    tables = f"{shown('.in-print table')} === document.querySelectorAll('.in-print table').length"
    colours = "getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color"
    asked = f"[{tables}, {shown('.pickers, nav, .choice > label')}, {colours}]"
    on_screen = chromium.ask(report, asked, *options)
    assert on_screen[:2] == [False, 6]  # folded, and with its controls
    paper = chromium.ask(report, asked, *options, edit=as_on_paper)
    assert paper == [True, 0, "rgb(255, 255, 255)", "rgb(0, 0, 0)"]


def pages(pdf: bytes) -> int:
    assert pdf.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_it_prints(chromium: Chromium, report: Path) -> None:
    assert pages(chromium.pdf(report)) >= 5


def test_it_can_be_seen_on_a_screen_and_on_a_telephone(chromium: Chromium, report: Path) -> None:
    assert len(chromium.screenshot(report)) > 40_000
    assert len(chromium.screenshot(report, width=390, height=900)) > 10_000
    overflow = "document.documentElement.scrollWidth <= innerWidth"
    assert chromium.ask(report, overflow, "--window-size=390,900") is True
