"""Bundles in a bucket, on fsspec's file systems in memory and on disk: what is pushed is what is mirrored."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

import fsspec
import pytest
from bakeoff.bundle import bucket
from bakeoff.bundle.bucket import CHECKSUMS, Bucket, Mirrored
from bakeoff.bundle.read import Bundle
from bakeoff.cli import main
from bakeoff.errors import BakeoffError, PlanError
from bakeoff.locks import try_lock
from builders.bundles import Story, write_bundle

ADDRESS = "memory://bench/nightly"
TINY = Story(threads=(1,), presets=("a",), repetitions=2, window_s=2, warm_up_s=1, title="Tiny")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_bundle(tmp_path_factory.mktemp("results") / "tiny-1", TINY).folder
    (folder / "report.html").write_text("<script>")
    (folder / "secret.txt").write_text("nobody's")
    return folder


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


@pytest.fixture
def tiny(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "tiny-1"))


def mirror(folder: Path) -> Mirrored:
    with Bucket(ADDRESS).mirrored(folder) as found:
        return found


def test_a_pushed_bundle_is_mirrored_whole_and_only_its_own_files(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    count, size_bytes = Bucket(ADDRESS).push(tiny)
    assert count > 10
    found = mirror(tmp_path / "mirror")
    assert (found.bundles, found.fetched_bytes, found.left_out) == (1, size_bytes, [])
    mirrored = tmp_path / "mirror" / "tiny-1"
    assert [run.rate_ops_per_s for run in Bundle.open(mirrored).runs] == [
        run.rate_ops_per_s for run in Bundle.open(tiny).runs
    ]
    names = {path.name for path in mirrored.rglob("*")}
    assert {"result.json", "intervals.parquet", "plan.toml"} <= names
    assert not {"report.html", "secret.txt", CHECKSUMS} & names


def test_a_second_mirror_and_a_second_push_send_only_what_changed(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    Bucket(ADDRESS).push(tiny)
    mirror(tmp_path / "mirror")
    assert Bucket(ADDRESS).push(tiny) == (0, 0)
    assert mirror(tmp_path / "mirror").fetched_bytes == 0
    (tiny / "note.txt").write_text("quiet")
    assert Bucket(ADDRESS).push(tiny) == (1, 5)
    assert mirror(tmp_path / "mirror").fetched_bytes == 5
    assert (tmp_path / "mirror" / "tiny-1" / "note.txt").read_text() == "quiet"


def test_a_push_that_was_broken_off_is_made_good_by_the_next(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    """The checksums were there already, and the last file was not."""
    place = f"{ADDRESS.removeprefix('memory:/')}/tiny-1/bundle.json"
    Bucket(ADDRESS).push(tiny)
    older = memory.cat_file(place)
    (tiny / "bundle.json").write_bytes(older.replace(b"  ", b" ") + b"\n")
    Bucket(ADDRESS).push(tiny)
    memory.pipe_file(place, older)
    assert mirror(tmp_path / "mirror").bundles == 0
    Bucket(ADDRESS).push(tiny)
    assert mirror(tmp_path / "mirror").bundles == 1


def test_a_file_that_was_altered_without_another_size_is_named_and_put_there_again(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    """Also where a mirror had it as it was."""
    place = "/bench/nightly/tiny-1/plan.json"
    Bucket(ADDRESS).push(tiny)
    assert mirror(tmp_path / "mirror").bundles == 1
    right = memory.cat_file(place)
    memory.pipe_file(place, right.replace(b"Tiny", b"Tidy"))
    for place_here in ("mirror", "another"):
        found = mirror(tmp_path / place_here)
        assert found.left_out == ["tiny-1 is left out: plan.json does not match its checksum: push the bundle again"]
    assert Bucket(ADDRESS).push(tiny) == (1, len(right))
    assert memory.cat_file(place) == right
    assert mirror(tmp_path / "mirror").bundles == 1


def test_a_checksum_of_the_listing_spares_reading_and_another_mark_does_not(
    memory: fsspec.AbstractFileSystem, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3's ETag is mostly an MD5, with quotation marks; of encrypted objects it is something else."""
    Bucket(ADDRESS).push(tiny)
    find, read, was_read = memory.find, memory.cat_file, []
    mark = ""

    def marked(_: object, *words: Any, **options: Any) -> Any:
        found = find(*words, **options)
        return {path: said | {"ETag": mark or f'"{md5(read(path)).hexdigest()}"'} for path, said in found.items()}

    def noted(_: object, path: str, **options: Any) -> Any:
        was_read.append(path)
        return read(path, **options)

    monkeypatch.setattr(type(memory), "find", marked)
    monkeypatch.setattr(type(memory), "cat_file", noted)
    assert (Bucket(ADDRESS).push(tiny), was_read) == ((0, 0), [])
    mark = '"0123456789abcdef0123456789abcdef"'
    assert Bucket(ADDRESS).push(tiny) == (0, 0)
    assert len(was_read) > 10


@pytest.mark.parametrize("address", ["memory://nowhere/at-all", "file:///nowhere/at-all"])
def test_a_bucket_that_does_not_exist_is_not_an_empty_one(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundles", "list", "--results", address]) != 0
    assert "there is no such bucket or folder" in capsys.readouterr().err


def test_folders_with_the_names_of_a_mirror_s_own_files_are_no_bundles(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    Bucket(ADDRESS).push(tiny)
    for name in ("mirror.json", "mirror.lock"):
        memory.pipe_file(f"{ADDRESS.removeprefix('memory:/')}/{name}/bundle.json", b"{}")
    assert mirror(tmp_path / "mirror").bundles == 1


def test_nobody_changes_a_mirror_that_is_read_and_several_may_read_it(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    Bucket(ADDRESS).push(tiny)
    with Bucket(ADDRESS).mirrored(tmp_path / "mirror"):
        handle = os.open(tmp_path / "mirror" / "mirror.lock", os.O_RDONLY)
        assert try_lock(handle, shared=True)
        assert not try_lock(handle)
    assert try_lock(handle)
    os.close(handle)


def test_what_is_gone_in_the_bucket_is_gone_in_the_mirror(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    (tiny / "note.txt").write_text("quiet")
    Bucket(ADDRESS).push(tiny)
    mirror(tmp_path / "mirror")
    (tiny / "note.txt").unlink()
    Bucket(ADDRESS).push(tiny)
    memory.rm_file("/bench/nightly/tiny-1/note.txt")
    mirror(tmp_path / "mirror")
    assert not (tmp_path / "mirror" / "tiny-1" / "note.txt").exists()
    memory.rm("/bench/nightly/tiny-1", recursive=True)
    assert mirror(tmp_path / "mirror").bundles == 0
    assert not (tmp_path / "mirror" / "tiny-1").exists()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (
            lambda files, base: files.pipe_file(f"{base}/plan.json", b"{}"),
            "plan.json does not match its checksum: push the bundle again",
        ),
        (lambda files, base: files.rm_file(f"{base}/machine.json"), "1 of its files is missing: machine.json"),
        (lambda files, base: files.pipe_file(f"{base}/bundle.json", b"{"), "its bundle.json cannot be read"),
        (lambda files, base: files.pipe_file(f"{base}/{CHECKSUMS}", b"[]"), f"its {CHECKSUMS} cannot be read"),
    ],
)
def test_an_altered_or_unfinished_bundle_is_left_out_and_named(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path, harm: object, words: str
) -> None:
    Bucket(ADDRESS).push(tiny)
    assert callable(harm)
    harm(memory, "/bench/nightly/tiny-1")
    found = mirror(tmp_path / "mirror")
    assert found.bundles == 0
    assert found.left_out == [f"tiny-1 is left out: {words}"]
    assert not (tmp_path / "mirror" / "tiny-1").exists()


def test_names_that_no_bundle_has_and_files_too_large_are_not_fetched(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Bucket(ADDRESS).push(tiny)
    base = "/bench/nightly"
    for name in ("..", "evil\nname", ".hidden"):
        memory.store[f"{base}/{name}/bundle.json"] = memory.store[f"{base}/tiny-1/bundle.json"]
    memory.store[f"{base}/tiny-1/runs/../../outside.json"] = memory.store[f"{base}/tiny-1/plan.json"]
    found = mirror(tmp_path / "in" / "mirror")
    assert (found.bundles, found.left_out) == (1, [])
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["mirror"]
    assert not list(tmp_path.rglob("outside.json"))
    monkeypatch.setattr(bucket, "FILE_MAX_BYTES", 100)
    (left_out,) = mirror(tmp_path / "other").left_out
    assert "is larger than 100 B" in left_out


def test_a_mirror_follows_no_link_that_lies_in_its_folder(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    Bucket(ADDRESS).push(tiny)
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "mirror" / "tiny-1").mkdir(parents=True)
    (tmp_path / "mirror" / "tiny-1" / "facts").symlink_to(outside)
    (left_out,) = mirror(tmp_path / "mirror").left_out
    assert "link" in left_out
    assert list(outside.iterdir()) == []


def test_a_name_that_is_taken_by_another_bundle_is_refused(
    memory: fsspec.AbstractFileSystem, tiny: Path, tmp_path: Path
) -> None:
    Bucket(ADDRESS).push(tiny)
    info = json.loads((tiny / "bundle.json").read_text())
    (tiny / "bundle.json").write_text(json.dumps(info | {"id": "another"}))
    with pytest.raises(PlanError, match="another bundle named tiny-1 is there"):
        Bucket(ADDRESS).push(tiny)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("s3://key:hidden@bench/nightly", "no credentials"),
        ("memory://bench?token=hidden", "no credentials"),
        ("filecache::memory://bench", "of one file system"),
        ("ftp://user@bench/nightly", "no credentials"),
        ("ftp://bench/nightly", "at ftp://, only at s3://, gs://, abfs://, az://, file://"),
        ("github://org:repo@main/nightly", "no credentials"),
        ("https://bench/nightly", "at https://, only at s3://"),
        ("nothing://bench", "at nothing://, only at s3://"),
    ],
)
def test_addresses_that_cannot_be_are_refused_without_their_secrets(address: str, words: str) -> None:
    with pytest.raises(PlanError, match=words) as refused:
        Bucket(address)
    assert "hidden" not in f"{refused.value} {refused.value.hint}"


def test_an_address_of_another_kind_ends_with_code_2(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundles", "push", str(tiny), "ftp://bench/nightly"]) == 2
    assert "bundles cannot be kept at ftp://" in capsys.readouterr().err
    assert main(["bundles", "list", "--results", "http://bench/nightly"]) == 2
    assert "bundles cannot be kept at http://" in capsys.readouterr().err


def test_without_the_package_one_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bucket, "find_spec", lambda name: None)
    assert main(["track", "--results", ADDRESS]) == 2
    said = capsys.readouterr().err
    assert "the Python package fsspec is missing" in said
    assert "pip install 'bakeoff[bucket]'" in said


def test_an_error_of_the_bucket_is_shown_without_secrets_of_the_environment(
    memory: fsspec.AbstractFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "abc123secret")

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("signature of abc123secret does not match")

    monkeypatch.setattr(type(memory), "find", refuse)
    with pytest.raises(BakeoffError, match=r"RuntimeError: signature of \.\.\. does not match") as refused:
        mirror(tmp_path / "mirror")
    assert "abc123secret" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_the_commands_push_list_and_track_by_an_address(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BAKEOFF_CACHE", str(tmp_path / "cache"))
    address = f"file://{tmp_path}/bucket/nightly"
    second = Path(shutil.copytree(tiny, tmp_path / "tiny-2"))
    assert main(["bundles", "push", str(tiny), str(second), address]) == 0
    assert capsys.readouterr().out.startswith("tiny-1  ")
    assert main(["bundles", "list", "--results", address, "--json"]) == 0
    assert {one["name"] for one in json.loads(capsys.readouterr().out)["bundles"]} == {"tiny-1", "tiny-2"}
    assert main(["bundles", "show", "tiny-1", "--results", address]) == 0
    assert "Tiny" in capsys.readouterr().out
    assert main(["track", "--results", address]) == 0
    assert capsys.readouterr().out.startswith("Tiny: 2 bundles")
    assert main(["bundles", "remove", "tiny-1", "--yes", "--results", address]) == 2
    assert "not in a bucket" in capsys.readouterr().err
