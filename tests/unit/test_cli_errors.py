"""Whatever happens, a command ends with one sentence and a documented exit code, never with a traceback."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from bakeoff import cli
from bakeoff.bundle.files import write_text
from bakeoff.bundle.write import BundleWriter
from bakeoff.cli.commands import workloads
from bakeoff.cli.output import print_json
from bakeoff.cli.progress import CLEAR, Line
from bakeoff.errors import ExitCode, PlanError, ServerError
from builders.bundles import MARIADB, Story, write_bundle

PLAN = 'title = "t"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\nrecords = 10\n'


def ending(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int:
    def fail(_: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr(workloads, "run", fail)
    return cli.main(["workloads"])


def test_a_full_disk_that_nothing_foresaw_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(monkeypatch, OSError(28, "No space left on device", "/results/x")) == ExitCode.ENVIRONMENT
    assert capsys.readouterr().err.splitlines() == [
        "error: No space left on device (/results/x)",
        "  hint: free some space, or use another folder",
    ]


def test_a_bug_is_called_one_and_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ending(monkeypatch, ZeroDivisionError("division by zero")) == ExitCode.ENVIRONMENT
    words = capsys.readouterr().err
    assert words.startswith("error: internal error: ZeroDivisionError: division by zero\n")
    assert "Traceback" not in words


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_report_is_made_although_the_answer_cannot_be_printed(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle", Story(threads=(1,), presets=("a",), repetitions=1, window_s=2)).folder
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "bakeoff", "report", str(bundle)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert done.returncode == ExitCode.ENVIRONMENT
    assert f"report  {bundle / 'report.html'}" in done.stderr
    assert "error: standard output cannot be written" in done.stderr
    assert (bundle / "report.html").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["workloads"], ["--help"], ["run", "--help"], ["--version"]])
def test_output_that_cannot_be_written_is_an_error_and_not_noise_at_exit(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "bakeoff", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert done.returncode == ExitCode.ENVIRONMENT
    assert done.stderr.startswith("error: standard output cannot be written: No space left on device\n")
    assert "Exception ignored" not in done.stderr


def test_a_terminal_without_the_letters_of_a_title_still_gets_the_plan(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('title = "データ"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\nrecords = 10\n', encoding="utf-8")
    command = [sys.executable, "-m", "bakeoff", "run", str(plan), "--dry-run"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, capture_output=True, env=ascii_only, cwd=tmp_path)
    assert done.returncode == ExitCode.DONE, done.stderr
    assert done.stdout.startswith(b"???")


def command(*words: str | bytes) -> list[str | bytes]:
    return [sys.executable, "-m", "bakeoff", *words]


def refused(done: subprocess.CompletedProcess[bytes], code: int, words: str) -> bool:
    said = done.stderr.decode()
    assert (done.returncode, "Traceback" in said, "should not have happened" in said) == (code, False, False), said
    assert words in said
    return True


def test_a_closed_output_is_reported_before_anything_is_done() -> None:
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command("workloads")]
    assert refused(subprocess.run(closed, capture_output=True), ExitCode.ENVIRONMENT, "standard output is closed")


def test_closed_errors_do_not_cost_the_answer(tmp_path: Path) -> None:
    """A file that is opened later must not get their place, and be written into."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    closed = ["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *command("run", str(plan), "--dry-run")]
    done = subprocess.run(closed, capture_output=True)
    assert done.returncode == ExitCode.DONE
    assert b"1 cell" in done.stdout


@pytest.mark.parametrize("gone", ["stdout", "stderr"])
def test_a_reader_that_has_gone_ends_the_printing_only(tmp_path: Path, gone: str) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    read, write = os.pipe()
    os.close(read)
    heard = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, gone: write}
    words = command("run", "plan.toml", "--dry-run")
    done = subprocess.run(words, stdout=heard["stdout"], stderr=heard["stderr"], cwd=tmp_path)
    os.close(write)
    assert done.returncode == ExitCode.DONE
    assert done.stdout is None or b"1 cell" in done.stdout
    assert done.stderr is None or b"rror" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("run", b"\xff.toml"),
        ("report", b"\xff"),
        ("compare", "a", b"\xff"),
        ("run", "plan.toml", "--out", b"\xff"),
        ("run", "plan.toml", "--work-dir", b"\xff"),
    ],
)
def test_a_name_that_is_not_text_is_refused(tmp_path: Path, words: tuple[str | bytes, ...]) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    done = subprocess.run(command(*words), capture_output=True, cwd=tmp_path)
    assert refused(done, ExitCode.USAGE, "a name is not UTF-8 text")
    assert b"\\udcff" in done.stderr


def test_a_folder_whose_name_is_not_text_is_one_sentence(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    with open(folder + b"/plan.toml", "w") as plan:
        plan.write(PLAN.replace("[systems.sqlite]", "[systems.sqlite]\npath = 'here'"))
    done = subprocess.run(command("run", "plan.toml"), capture_output=True, cwd=folder)
    assert refused(done, ExitCode.USAGE, "a name is not UTF-8 text")


STEERING = "a\x1b[31mb\x9bc\x07d\u202ee\rf"


def test_what_steers_a_terminal_is_shown_as_its_escape(tmp_path: Path) -> None:
    title = "".join(f"\\u{ord(letter):04x}" for letter in STEERING)
    (tmp_path / "plan.toml").write_text(PLAN.replace('"t"', f'"{title}"'))
    done = subprocess.run(command("run", "plan.toml", "--dry-run"), capture_output=True, cwd=tmp_path)
    assert done.stdout.decode().splitlines()[0] == r"a\x1b[31mb\x9bc\x07d\u202ee\rf"


@pytest.mark.parametrize("words", [("run", STEERING), (STEERING,), ("report", STEERING), ("workloads", STEERING)])
def test_errors_and_complaints_do_not_steer_either(words: tuple[str, ...]) -> None:
    done = subprocess.run(command(*words), capture_output=True)
    assert done.returncode == ExitCode.USAGE
    assert not set(done.stderr) & set(b"\x1b\x9b\x07\r")
    assert "\u202e" not in done.stderr.decode()


def test_progress_does_not_steer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    line = Line()
    line._moving = True
    line.message(STEERING)
    line.stage(STEERING)
    assert capsys.readouterr().err.replace(CLEAR, "").isascii()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_we_are_still_importing_ends_as_ctrl_c_does(number: signal.Signals) -> None:
    """At the first import of ours that takes time; what comes before is Python's own start."""
    script = f"""
import os, signal, sys
if signal.getsignal({int(number)}) == signal.SIG_IGN:  # of whoever runs the tests
    signal.signal({int(number)}, signal.SIG_DFL)
class Signalling:
    def find_spec(self, name, *_):
        if name == "bakeoff.cli":
            os.kill(os.getpid(), {int(number)})
sys.meta_path.insert(0, Signalling())
sys.argv = ["bakeoff", "workloads"]
from bakeoff.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, "", "interrupted\n")


def test_an_interrupt_that_a_library_made_another_error_of_is_still_one() -> None:
    script = """
import os, signal, sys
from bakeoff import interrupts
interrupts.listen()
from bakeoff import cli
from bakeoff.bundle.files import write_text
from bakeoff.bundle.write import BundleWriter
from bakeoff.cli.commands import workloads
def fail(_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("initialization failed")
workloads.run = fail
sys.exit(cli.main(["workloads"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (ExitCode.INTERRUPTED, "interrupted\n")


def test_nohup_is_respected() -> None:
    script = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from bakeoff import interrupts
interrupts.listen()
os.kill(os.getpid(), signal.SIGHUP)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_the_answer_is_printed_even_if_its_report_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = Story(contenders=(MARIADB,), threads=(2,), presets=("a",), repetitions=1, window_s=3, warm_up_s=1)
    folder = write_bundle(tmp_path / "bundle", story).folder
    (folder / "charts").write_text("in the way")
    assert cli.main(["report", str(folder)]) == ExitCode.USAGE
    told = capsys.readouterr()
    assert story.title in told.out
    assert "error: cannot write" in told.err
    assert cli.main(["report", "--json", str(folder)]) == ExitCode.USAGE
    document = json.loads(capsys.readouterr().out)
    assert document["answer"]["title"] == story.title
    assert document["report"] is None


def test_png_files_without_the_package_that_makes_them_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    story = Story(contenders=(MARIADB,), threads=(2,), presets=("a",), repetitions=1, window_s=3, warm_up_s=1)
    folder = write_bundle(tmp_path / "bundle", story).folder
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert cli.main(["report", "--png", str(folder)]) == ExitCode.USAGE
    assert "vl-convert-python is missing; PNG files need it (--png)" in capsys.readouterr().err
    assert cli.main(["report", str(folder)]) == ExitCode.DONE


def test_an_interrupt_while_the_report_is_made_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    story = Story(contenders=(MARIADB,), threads=(2,), presets=("a",), repetitions=1, window_s=3, warm_up_s=1)
    folder = write_bundle(tmp_path / "bundle", story).folder

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("bakeoff.report.html.write.render_html", interrupted)
    assert cli.main(["report", "--png", str(folder)]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "interrupted\n"
    assert not [
        path for path in folder.rglob("*") if path.name.endswith((".part", ".png")) or path.name == "report.html"
    ]


def test_json_is_strict() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"rate": float("nan")})


def test_a_plan_without_an_engine_is_refused_in_one_sentence() -> None:
    command = [sys.executable, "-m", "bakeoff", "run", "--dry-run", "plans/quickstart.toml"]
    root, environment = Path(__file__).parents[2], {**os.environ, "BAKEOFF_ENGINE": "/no/engine"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment)
    assert done.returncode == ExitCode.ENVIRONMENT
    assert done.stderr.startswith("error: the engine bakeoff-engine was not found (/no/engine)")
    assert "hint: " in done.stderr


def test_a_missing_package_is_named_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = ModuleNotFoundError("No module named 'pg8000.native'", name="pg8000.native")
    assert ending(monkeypatch, missing) == ExitCode.ENVIRONMENT
    words = capsys.readouterr().err
    assert words.startswith("error: bakeoff needs the Python package pg8000, which is not installed")
    assert "-m pip install pg8000`" in words


def test_what_is_no_version_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["systems", "install", "postgresql@banana"]) == ExitCode.USAGE
    words = capsys.readouterr().err
    assert words.startswith("error: 'banana' is not a version of postgresql")
    assert "trixie: the newest 17" in words


def test_nothing_is_installed_when_one_of_several_systems_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["systems", "install", "mariadb", "marIadb"]) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("error: there is no system 'marIadb' to install")


@pytest.mark.parametrize("other", [["--fault", "kill"], ["--schedule", "P4"], ["--every-level"], ["--search", "3"]])
def test_crashes_refuse_what_asks_for_other_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: list[str]
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('title = "t"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\npreset = "a"\n')
    assert cli.main(["verify", str(plan), "--cuts", "1", *other]) == ExitCode.USAGE
    assert (
        f"--cuts, --kills and --node-kills replace the other checks, and {other[0]} is of those"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--seed", "7"], "none is asked for"),
        (["--search", "3", "--fault", "kill", "--schedule", "P4"], "--schedule is about those"),
        (["--search", "3", "--fault", "kill", "--show", "P4"], "--show is about those"),
        (["--search", "3", "--fault", "kill", "--tries", "3"], "--tries is about those"),
    ],
)
def test_what_a_check_would_ignore_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], what: str
) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('title = "t"\n[systems.sqlite]\n[workload]\nkind = "ycsb"\npreset = "a"\n')
    assert cli.main(["verify", str(plan), *words]) == ExitCode.USAGE
    assert what in capsys.readouterr().err


def test_an_image_is_pulled_for_one_system_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["systems", "install", "mariadb", "mysql", "--image", "mysql:8.4"]) == ExitCode.USAGE
    assert "an image is of one system" in capsys.readouterr().err


def test_a_server_that_refuses_before_anything_was_loaded_leaves_no_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.toml"
    system = '[systems.mariadb]\naddress = "127.0.0.1:1"\nuser = "root"'
    plan.write_text(PLAN.replace("[systems.sqlite]", system) + 'preset = "c"\n')
    out = tmp_path / "out"
    assert cli.main(["run", str(plan), "--together", "--out", str(out)]) == ExitCode.ENVIRONMENT
    assert "kept" not in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("left", ["loads/x/load.json", "loads/x/server.log", "loads/x.json"])
def test_a_bundle_is_kept_that_says_how_far_a_plan_came(tmp_path: Path, left: str) -> None:
    writer = BundleWriter(tmp_path)
    writer.new = True
    assert writer.is_left_empty_by(ServerError("gone"))
    write_text(tmp_path, left, "{}")
    assert not writer.is_left_empty_by(ServerError("gone"))
    assert writer.is_left_empty_by(PlanError("wrong")) == (left != "loads/x.json")


def test_a_bundle_that_is_continued_is_never_taken_away(tmp_path: Path) -> None:
    assert not BundleWriter(tmp_path).is_left_empty_by(PlanError("wrong"))
