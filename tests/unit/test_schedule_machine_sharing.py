"""Two bakeoff runs never share cores without saying so; what says that one is at work, the kernel frees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from bakeoff.analysis.validity.checks import findings
from bakeoff.errors import ExitCode, ServerError
from bakeoff.plan.read import resolve
from bakeoff.schedule import machine_sharing as cores
from bakeoff.schedule.machine_sharing import Claim, Manner, claim, cores_of_all

from tests.builders.judged import judged


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAKEOFF_LOCK_DIR", str(tmp_path / "locks"))
    return tmp_path / "locks"


def take(*numbers: int, title: str = "a title", manner: Manner = "refuse") -> Claim:
    return claim(numbers, title, manner, lambda words: None)


def test_a_second_run_on_a_core_is_refused_with_the_name_of_the_first() -> None:
    with take(0, 1, title="the first"):
        with pytest.raises(ServerError) as caught:
            take(1, 2)
        assert f'pid {os.getpid()}, "the first"' in caught.value.what
        assert "--wait" in caught.value.hint
        assert "--together" in caught.value.hint
        assert caught.value.exit_code == ExitCode.ENVIRONMENT
    take(1, 2).free()


def test_runs_on_other_cores_do_not_know_of_each_other() -> None:
    with take(0) as first, take(1) as second:
        assert first.others() == second.others() == []


def test_together_both_learn_of_the_other_and_only_while_it_lasts() -> None:
    with take(0, 1, title="first") as first:
        assert first.others() == []
        with take(1, title="second", manner="together") as second:
            assert first.others() == [f'pid {os.getpid()}, "second"']
            assert second.others() == [f'pid {os.getpid()}, "first"']
        assert first.others() == []


def test_who_measured_next_to_another_is_disturbed() -> None:
    (found,) = [f for f in findings(judged(concurrent_runs=['pid 7, "second"'])) if f.ok is False]
    assert (found.severity, "next to another bakeoff run (pid 7" in found.words) == ("disturbed", True)


def test_waiting_ends_with_the_first_and_says_for_whom() -> None:
    said: list[str] = []
    first = take(0, title="first")

    def say(words: str) -> None:
        said.append(words)
        threading.Thread(target=first.free).start()

    claim([0], "second", "wait", say).free()
    assert said == [f'waiting for another bakeoff run on the same cores (pid {os.getpid()}, "first")']


def test_the_kernel_frees_what_a_killed_run_held_and_its_file_is_cleared_away(folder: Path) -> None:
    hold = (
        "import sys; from bakeoff.schedule.machine_sharing import claim; c = claim([0], 't', 'refuse', print);"
        " print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ServerError, match=f"pid {other.pid}"):
            take(0)
        other.kill()
        other.communicate()
    assert len(list(folder.glob("*.run"))) == 1
    take(0).free()
    assert list(folder.glob("*.run")) == []


def test_all_users_may_join_whatever_the_umask(folder: Path) -> None:
    before = os.umask(0o077)
    try:
        with take(0):
            assert folder.stat().st_mode & 0o7777 == 0o1777
            assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o644}
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_run_is_seen_without_a_right_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp()) / "locks"  # pytest's own are closed to other users
    folder.parent.chmod(0o755)
    monkeypatch.setenv("BAKEOFF_LOCK_DIR", str(folder))
    with take(0, title="root's"):
        for path in folder.iterdir():
            assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (0, 0o644)
        try:
            os.seteuid(65534)
            with pytest.raises(ServerError, match="root's"):
                take(0)
            with take(1, title="nobody's") as theirs:
                assert theirs.others() == []
        finally:
            os.seteuid(0)
    shutil.rmtree(folder.parent)


@pytest.mark.parametrize(
    "text", ["", "[", '{"pid": 1}', '{"pid": "x", "title": 1, "cores": 2}', "\x00" * 100, "9" * 5000]
)
def test_a_file_that_says_nothing_of_use_still_counts_as_a_run(folder: Path, text: str) -> None:
    first = take(0)
    (path,) = folder.glob("*.run")
    path.write_text(text)
    with pytest.raises(ServerError, match="unknown process"):
        take(0)
    first.free()


def test_a_title_reaches_the_terminal_without_its_escapes() -> None:
    with take(0, title="red \x1b[31m and more"), pytest.raises(ServerError) as caught:
        take(0)
    assert "\x1b" not in caught.value.what


def test_a_link_in_the_shared_folder_is_not_followed(folder: Path) -> None:
    folder.mkdir()
    (folder / "gate").symlink_to(folder / "precious")
    with pytest.raises(ServerError, match="it is a link"):
        take(0)
    assert not (folder / "precious").exists()


def test_a_folder_that_cannot_be_had_names_the_variable(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.raises(ServerError) as caught:
        take(0)
    assert "BAKEOFF_LOCK_DIR" in caught.value.hint


def test_the_folder_is_the_same_for_all_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAKEOFF_LOCK_DIR")
    assert cores.lock_folder() in (Path("/run/lock/bakeoff"), Path("/tmp/bakeoff-locks"))


@pytest.mark.parametrize(
    ("system", "placement", "expected"),
    [
        ("sqlite", "{ client = [0] }", {0}),
        ("sqlite", "{ server = [0] }", None),
        ("mariadb", "{ client = [0] }", None),
        ("mariadb", "{ client = [0], server = [1] }", {0, 1}),
        ("sqlite", "{}", None),
    ],
)
def test_cores_are_those_that_the_placement_names_or_all(
    system: str, placement: str, expected: set[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    start = "start = true" if system == "mariadb" else ""
    text = (
        f"title = 't'\n[systems.{system}]\n{start}\n[workload]\nkind = 'ycsb'\npreset = 'c'\n"
        f"[measure]\nplacement = {placement}"
    )
    plan = resolve(text, Path("."), must_run=False)
    assert set(cores_of_all(plan)) == (expected or {0, 1, 2})
