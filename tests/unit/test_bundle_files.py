"""Writing in a bundle: whole or not at all, never through a link, never over another file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bakeoff.bundle import files
from bakeoff.bundle.write import BundleWriter, folder_at
from bakeoff.errors import BakeoffError, BundleError
from bakeoff.report.html.write import write_report
from builders.bundles import MARIADB, Story, write_bundle

TINY = Story(contenders=(MARIADB,), threads=(2,), presets=("a",), repetitions=1, window_s=3, warm_up_s=1)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_text("precious")
    return folder


def untouched(outside: Path) -> bool:
    return os.listdir(outside) == ["precious"] and (outside / "precious").read_text() == "precious"


def test_links_in_a_foreign_bundle_are_replaced_and_not_followed(tmp_path: Path, outside: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", TINY)
    for name in ("report.html.part", "report.html"):
        (bundle.folder / name).symlink_to(outside / "precious")
    write_report(bundle)
    assert untouched(outside)
    assert not (bundle.folder / "report.html").is_symlink()
    assert "<html" in (bundle.folder / "report.html").read_text()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, outside: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", TINY)
    (bundle.folder / "charts").symlink_to(outside)
    with pytest.raises(BundleError, match="a link"):
        write_report(bundle)
    assert untouched(outside)


def test_a_picture_that_is_a_link_is_replaced(tmp_path: Path, outside: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", TINY)
    written = write_report(bundle, png=True)
    picture = next(path for path in written.charts if path.suffix == ".png")
    picture.unlink()
    picture.symlink_to(outside / "precious")
    write_report(bundle, png=True)
    assert untouched(outside)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_run_is_not_written_into_a_link(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/runs").symlink_to(outside)
    with pytest.raises(BundleError, match="a link"):
        BundleWriter(tmp_path / "bundle").run_folder("b01-c01")
    assert untouched(outside)


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_text(tmp_path, "charts/a.svg", "text")
    assert os.listdir(tmp_path / "charts") == []


def test_a_folder_in_place_of_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(BakeoffError, match=r"cannot write report\.html"):
        files.write_text(tmp_path, "report.html", "text")
    assert os.listdir(tmp_path) == ["report.html"]


def test_input_files_of_one_name_are_both_kept_and_lie_to_each_other_as_before(tmp_path: Path) -> None:
    sources = [tmp_path / "plans" / name for name in ("a/workload", "b/workload", "b/hist.txt")]
    for source in sources:
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(str(source.relative_to(tmp_path)))
    bundle = tmp_path / "bundle"
    BundleWriter(bundle).keep_files(sources)
    kept = {str(p.relative_to(bundle)): p.read_text() for p in bundle.rglob("*") if p.is_file()}
    assert kept == {
        "files/a/workload": "plans/a/workload",
        "files/b/workload": "plans/b/workload",
        "files/b/hist.txt": "plans/b/hist.txt",
    }


def test_one_input_file_lies_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "workload").write_text("x")
    BundleWriter(tmp_path / "bundle").keep_files([tmp_path / "workload", tmp_path / "." / "workload"])
    assert os.listdir(tmp_path / "bundle/files") == ["workload"]


def test_a_bundle_is_made_where_it_is_wanted_and_over_nothing(tmp_path: Path) -> None:
    assert folder_at(tmp_path / "ci" / "before") == tmp_path / "ci" / "before"
    assert folder_at(tmp_path / "ci" / "before").is_dir()  # made, and still empty
    (tmp_path / "ci" / "before" / "bundle.json").touch()
    with pytest.raises(BundleError, match="this folder holds a bundle already") as refused:
        folder_at(tmp_path / "ci" / "before")
    assert "--resume" in refused.value.hint
    with pytest.raises(BundleError, match="not empty"):
        folder_at(tmp_path / "ci")
