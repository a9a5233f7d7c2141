"""`bakeoff track` on made-up nights: what is found, what is said, and with which exit code."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from builders.bundles import MARIADB, Story, write_bundle

BEGIN = datetime(2026, 9, 1, 3, tzinfo=UTC)
SLOWER_FROM = 18
NIGHTS = 22


#: Nights take turns on these, and the third comes late.
RUNNERS = {"ci-1": 1.0, "ci-2": 1.15, "ci-3": 0.9}


def night(
    results: Path,
    number: int,
    *,
    rate: float = 1.0,
    version: str = "10.11.6",
    title: str = "Nightly",
    host: str = "bench-1",
) -> Path:
    side = replace(MARIADB, version=version, rate_1=MARIADB.rate_1 * rate, rate_max=MARIADB.rate_max * rate)
    story = Story(
        contenders=(side,), threads=(4,), presets=("a",), repetitions=3, window_s=2, warm_up_s=1, title=title,
        noise=0.002, seed=number,
    )  # fmt: skip
    folder = write_bundle(results / f"n{number:02d}", story).folder
    path = folder / "bundle.json"
    info = json.loads(path.read_text())
    info |= {"created": (BEGIN + timedelta(days=number)).isoformat(), "labels": {"commit": f"abc{number:02d}"}}
    path.write_text(json.dumps(info))
    machine = json.loads((folder / "machine.json").read_text())
    (folder / "machine.json").write_text(json.dumps(machine | {"hostname": host}))
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    for number in range(NIGHTS):
        slower = number >= SLOWER_FROM
        night(folder, number, rate=0.95 if slower else 1.0, version="10.11.7" if slower else "10.11.6")
    return folder


@pytest.fixture(scope="module")
def on_runners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 nights; from the 26th on 5 % slower on all machines, of which the third was used once only."""
    folder = tmp_path_factory.mktemp("runners")
    for number in range(30):
        host = "ci-3" if number == 20 else f"ci-{1 + number % 2}"
        slower = number >= 25
        rate = RUNNERS[host] * (0.95 if slower else 1.0)
        night(folder, number, rate=rate, version="10.11.7" if slower else "10.11.6", host=host)
    return folder


def track(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["track", *map(str, arguments)])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_a_slower_version_is_found_with_its_place_and_what_else_changed(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = track(capsys, "--results", results)
    assert code == 0, err
    assert "1 of 1 cell changed; 1 got worse at the last change." in out
    assert f"from abc{SLOWER_FROM} on, seen at abc{SLOWER_FROM + 2}" in out
    assert "MariaDB 10.11.6 before, MariaDB 10.11.7 after" in out
    assert "would be seen within five more bundles" in out


@pytest.mark.parametrize(("last", "expected"), [(1, 0), (2, 1), (NIGHTS, 1)])
def test_a_change_for_the_worse_fails_a_check_where_it_is_new(
    results: Path, capsys: pytest.CaptureFixture[str], last: int, expected: int
) -> None:
    assert track(capsys, "--results", results, "--fail-on-worse", str(last))[0] == expected


def test_the_document_the_page_and_the_comment_say_the_same(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--html", tmp_path / "track.html", "--markdown", tmp_path / "track.md"]
    _, out, _ = track(capsys, "--results", results, "--json", *files)
    document = json.loads(out)
    (one,) = document["tracks"]
    (shift,) = one["shifts"]
    assert (shift["at"], shift["worse"], len(one["points"])) == (SLOWER_FROM, True, NIGHTS)
    assert shift["low"] < 0.95 < shift["high"]
    page = (tmp_path / "track.html").read_text()
    assert page.count("<circle") == NIGHTS
    assert "10.11.7" in page
    assert f"abc{SLOWER_FROM}" in (tmp_path / "track.md").read_text()


def test_too_few_bundles_claim_nothing_and_say_how_many_are_needed(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = track(capsys, *(results / f"n{number:02d}" for number in range(10, NIGHTS)))
    assert "of some there are too few bundles" in out
    assert "it has 12 values, and 15 are needed" in out


def test_bundles_of_another_plan_and_unfinished_ones_are_no_part_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        night(tmp_path, number)
    night(tmp_path, 3, title="Other")
    stopped = night(tmp_path, 4)
    text = (stopped / "bundle.json").read_text()
    (stopped / "bundle.json").write_text(text.replace('"complete"', '"interrupted"'))
    code, _, err = track(capsys, "--results", tmp_path)
    assert code == 2
    assert 'bundles of 2 plans: "Nightly"; "Other"' in err
    code, out, err = track(capsys, "--results", tmp_path, "--title", "Nightly")
    assert (code, out.splitlines()[0]) == (0, "Nightly: 3 bundles, judged by throughput")
    assert "its state is 'interrupted'" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--title", "Nigthly"], 'no bundle has the title "Nigthly"'),
        (["--metric", "rat"], "rat"),
        (["--html", "page"], "the name must end in .html"),
        (["--fail-on-worse", "0"], "0 is not a number of bundles"),
        (["--results", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_wrong_options_end_with_a_sentence(
    results: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    code, _, err = track(capsys, "--results", results, *arguments)
    assert code == 2
    assert words in err


def test_a_label_is_in_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(
        'title = "Labelled"\n[systems.null]\n[workload]\nkind = "ycsb"\npreset = "c"\nrecords = 10\n'
        '[measure]\nwarm_up = "0s"\nwindow = "1s"\nrepetitions = 1\n'
    )
    words = ["run", "plan.toml", "--out", "out", "--label", "commit=abc", "--label", "branch=main"]
    assert main([*words, "--allow-disturbed", "--quiet", "--together"]) == 0
    assert Bundle.open("out").info.labels == {"commit": "abc", "branch": "main"}


def test_a_change_of_machine_is_no_change_and_one_on_all_machines_is(
    on_runners: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "track.html"
    code, out, err = track(capsys, "--results", on_runners, "--json", "--html", page)
    assert code == 0, err
    (one,) = json.loads(out)["tracks"]
    (shift,) = one["shifts"]
    assert shift["at"] == 25
    assert shift["ratio"] == pytest.approx(0.95, abs=0.005)
    assert shift["by_machine"] == {name: pytest.approx(0.95, abs=0.01) for name in ("ci-1", "ci-2")}
    assert [change["name"] for change in shift["changed"]] == ["seed", "mariadb"]  # and not the machine
    machines = {machine["name"]: machine for machine in one["machines"]}
    assert machines["ci-1"]["ratio"] * 1.15 == pytest.approx(machines["ci-2"]["ratio"], rel=0.02)
    assert (machines["ci-3"]["points"], machines["ci-3"]["ratio"]) == (1, None)
    written = page.read_text()
    assert "compared with itself: ci-2 (15 bundles), ci-1 (14 bundles, -" in written
    assert "ci-3 (1 bundle, of at least 3)" in written


def test_hosts_with_drawn_names_are_one_machine_by_their_hardware(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(16):
        night(tmp_path, number, host=f"runner-{number:x}")
    _, out, _ = track(capsys, "--results", tmp_path)
    assert "nothing can be judged yet" in out
    assert "--machines-by hardware" in out
    _, out, _ = track(capsys, "--results", tmp_path, "--machines-by", "hardware")
    assert "would be seen within five more bundles" in out
    assert "compared with itself" not in out
